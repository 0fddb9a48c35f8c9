"""The memory of virtual cards: it is what ``mailbox.h`` says, and what is none is refused."""

from __future__ import annotations

import re
import shutil
import struct
from pathlib import Path

import pytest
from card_fakes import compiled

import nvram
from nvram import CardMemoryError, Place

PLACES = {Place(0, 0): "00:00:c9:01:00:00", Place(0, 1): "00:00:c9:01:00:01"}
needs_compiler = pytest.mark.skipif(not shutil.which("cc"), reason="this host has no C compiler to ask")


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    path = tmp_path / "nvram"
    nvram.lay_out(path, "emulex-oce11102", "VB00000001", PLACES)
    return path


@needs_compiler
def test_the_numbers_are_those_a_compiler_sees(tmp_path: Path) -> None:
    names = list(nvram.constants())
    lines = "".join(f'printf("{name} %llu\\n", (unsigned long long)VCARD_{name});' for name in names)
    text = compiled(f'#include <stdio.h>\n#include "mailbox.h"\nint main(void) {{ {lines} return 0; }}\n', tmp_path)
    assert {name: int(value) for name, value in (line.split() for line in text.splitlines())} == nvram.constants()
    assert len(names) > 40


@needs_compiler
def test_the_fault_words_are_those_a_compiler_sees(tmp_path: Path) -> None:
    row = 'printf("%d %s %s\\n", word, name, #scope);'
    source = f"""
        #include <stdio.h>
        #include "mailbox.h"
        #define ROW(constant, word, name, scope, text) {row}
        int main(void) {{ VCARD_FAULTS(ROW) return 0; }}
    """
    seen = {}
    for line in compiled(source, tmp_path).splitlines():
        index, name, scope = line.split()
        seen[name] = (int(index), scope == "SLOT")
    assert seen == {word.name: (word.index, word.whole_slot) for word in nvram.words().values()}
    assert len(seen) > 30


def test_words_have_a_place_of_their_own_within_the_table() -> None:
    indices = [word.index for word in nvram.words().values()]
    assert len(set(indices)) == len(indices)
    assert max(indices) < nvram.constants()["FAULT_WORDS"]


def test_a_new_memory_has_the_size_the_mark_and_the_identity(memory: Path) -> None:
    data, known = memory.read_bytes(), nvram.constants()
    assert len(data) == known["FILE_SIZE"]
    assert struct.unpack_from("<II", data) == (known["MAGIC"], known["VERSION"])
    slot = known["O_SLOT"]
    assert data[slot : slot + 16] == b"emulex-oce11102\0"
    assert data[slot + 32 : slot + 43] == b"VB00000001\0"
    port = slot + known["S_PORT"] + known["PORT_SIZE"]
    assert data[port : port + 6].hex(":") == "00:00:c9:01:00:01"
    second = slot + known["SLOT_SIZE"]
    assert not any(data[second : second + known["SLOT_SIZE"]])


def test_a_second_card_is_in_the_second_slot_with_a_serial_number_of_its_own(tmp_path: Path) -> None:
    macs = {Place(0, 0): "00:60:cf:01:00:00", Place(1, 0): "00:60:cf:01:00:01"}
    nvram.lay_out(tmp_path / "nvram", "alteon-acenic", "VB1", macs)
    with nvram.opened(tmp_path / "nvram") as memory:
        assert [memory.string(nvram.slot_at(slot, "MODEL")) for slot in (0, 1)] == ["alteon-acenic"] * 2
        assert [memory.string(nvram.slot_at(slot, "SERIAL")) for slot in (0, 1)] == ["VB1", "VB1B"]
        assert memory.mac(1, 0) == "00:60:cf:01:00:01"


def test_what_the_card_has_is_kept_when_it_is_laid_out_again(memory: Path) -> None:
    with nvram.opened(memory) as card:
        card.set_string(nvram.at(0, 1, "FW_ACTIVE"), "4.6.281.26")
    nvram.lay_out(memory, "emulex-oce11102", "VB00000001", PLACES)
    with nvram.opened(memory) as card:
        assert card.string(nvram.at(0, 1, "FW_ACTIVE")) == "4.6.281.26"


def test_a_change_is_counted_and_the_count_wraps(memory: Path) -> None:
    offset = nvram.constants()["O_CHANGES"]
    with nvram.opened(memory) as card:
        card.set_u32(offset, 0xFFFFFFFF)
        card.changed()
        assert card.u32(offset) == 0
        card.changed()
        assert card.u32(offset) == 1


def test_a_string_may_fill_its_field_and_no_more(memory: Path) -> None:
    with nvram.opened(memory) as card:
        card.set_string(nvram.at(0, 0, "FW_ACTIVE"), "v" * 32)
        assert card.string(nvram.at(0, 0, "FW_ACTIVE")) == "v" * 32
        assert card.string(nvram.at(0, 0, "FW_PENDING")) == ""
        for wrong in ("v" * 33, "ä"):
            with pytest.raises(CardMemoryError, match=re.escape(f"{wrong!r} does not fit; expected at most 32 ASCII")):
                card.set_string(nvram.at(0, 0, "FW_ACTIVE"), wrong)


@pytest.mark.parametrize("value", [-1, 1 << 32])
def test_a_number_that_is_no_word_is_refused(memory: Path, value: int) -> None:
    with nvram.opened(memory) as card, pytest.raises(CardMemoryError, match=f": {value} at 0x10"):
        card.set_u32(0x10, value)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "ends before 0x4: not the memory of a card"),
        (b"\0" * 64, "magic 0x0 version 0; expected 0x44524356 version 1"),
        (struct.pack("<II", 0x44524356, 99), "version 99; expected 0x44524356 version 1"),
    ],
)
def test_what_is_no_memory_is_refused(tmp_path: Path, content: bytes, complaint: str) -> None:
    path = tmp_path / "nvram"
    path.write_bytes(content)
    with pytest.raises(CardMemoryError, match=complaint), nvram.opened(path):
        raise AssertionError("it was taken")
