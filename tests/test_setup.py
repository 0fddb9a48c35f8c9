"""The installs and calls of ``make``: only what the bench needs, pinned by hashes, from any folder, with any value."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from programs import program

from niclab.core.wait import until

REPOSITORY = Path(__file__).resolve().parents[1]
REAL = "commands:\n  up: ssh pdu.lab.example power-on rack3\n"
VIRTUAL = "commands:\n  up: lab/virtual/vbench up\n"
SAYING = '#!/bin/sh\nprintf "%s|" "$(basename "$0")" "$@" >> "{said}"\necho >> "{said}"\n'
APT = '#!/bin/sh\necho "$@" >> "{said}"\ncat "$POLICY_RC_D" >> "{said}"\n'


class TestMake:
    @pytest.fixture
    def house(self, tmp_path: Path) -> Path:
        """A repository in a folder with a space, in which all is installed; its programs write down their call."""
        house = tmp_path / "a house"
        (house / "ci" / "locks").mkdir(parents=True)
        shutil.copy(REPOSITORY / "Makefile", house)
        for name in ("requirements.lock", "requirements-dev.lock", "ci/locks/pip.lock", "pyproject.toml"):
            (house / name).touch()
        for name in (".venv/bin/python", ".venv/bin/niclab", "lab/virtual/vbench", "ci/debian-packages"):
            program(house / name, SAYING.format(said=house / "said"))
        for name in (".venv/.installed", ".venv/.installed-dev"):
            (house / name).touch()
        (house / "real bench.yaml").write_text(REAL)
        (house / "virtual.yaml").write_text(VIRTUAL)
        return house

    def make(self, house: Path, *arguments: str) -> list[str]:
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
        done = subprocess.run(
            ["make", *arguments], cwd=house, env=environment, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done.stderr
        said = house / "said"
        return said.read_text().splitlines() if said.exists() else []

    def test_a_real_bench_needs_nothing_of_the_virtual_one(self, house: Path) -> None:
        assert self.make(house, "certify", "BENCH=real bench.yaml", "CARD=x") == [
            "python|-m|niclab.report.allure.allure_tools|",
            "niclab|certify|real bench.yaml|--card|x|--profile|quick|",
        ]

    def test_a_virtual_bench_is_set_up(self, house: Path) -> None:
        said = self.make(house, "certify", "BENCH=virtual.yaml", "CARD=x", "PEER_OS=freebsd")
        assert "qemu-system-x86_64:" in said[1] and said[2] == "vbench|image|--os|freebsd|"
        assert said[-1] == "niclab|certify|virtual.yaml|--card|x|--profile|quick|--peer-os|freebsd|"
        assert "snmpd" not in "".join(said)

    def test_the_images_of_the_systems_that_are_asked_for_are_made_before_the_run(self, house: Path) -> None:
        said = self.make(house, "certify", "BENCH=virtual.yaml", "DUT_OS=debian13", "PEER_OS=linux")
        assert "vbench|image|--os|debian13|--os|linux|" in said
        assert said[-1].endswith("|--dut-os|debian13|--peer-os|linux|")
        said = self.make(house, "certify", "BENCH=real bench.yaml", "DRIVER=vendor")
        assert said[-1].endswith("|--profile|quick|--driver|vendor|")
        (house / "said").unlink()
        assert "vbench|image|" in self.make(house, "setup-virtual")

    def test_missing_report_tools_do_not_stop_a_run(self, house: Path) -> None:
        program(house / ".venv/bin/python", "#!/bin/sh\nexit 1\n")
        assert self.make(house, "certify", "BENCH=real bench.yaml")[-1].startswith("niclab|certify|")

    @pytest.mark.parametrize("value", ["x; touch evil", "$(shell touch evil)", "`touch evil`", "'\"$(touch evil)"])
    @pytest.mark.parametrize("name", ["CARD", "BENCH", "PROFILE", "DUT_OS", "DRIVER"])
    def test_no_value_is_run(self, house: Path, name: str, value: str) -> None:
        said = self.make(house, "certify", f"{name}={value}")
        assert f"|{value}|" in said[-1]
        assert not (house / "evil").exists()

    def test_many_cards_have_benches_of_their_own_which_are_removed(self, house: Path) -> None:
        cards = "a b; touch evil"
        said = self.make(house, "certify-all", f"CARDS={cards}", "BENCHES=2", "SUITE=$(shell touch evil)")
        files = [f"results/benches/all-{number}.yaml" for number in (1, 2)]
        assert said[-3:] == [
            f"niclab|certify-all|{files[0]}|{files[1]}|--cards|{cards}|--profile|quick|--suite|$(shell touch evil)|",
            *(f"vbench|down|--purge|--name|all-{number}|" for number in (1, 2)),
        ]
        assert [f"vbench|bench-file|--name|all-{number}|" in said for number in (1, 2)] == [True, True]
        assert all((house / file).exists() for file in files) and not (house / "evil").exists()

    def test_the_end_of_many_cards_is_that_of_make(self, house: Path) -> None:
        program(house / ".venv/bin/niclab", "#!/bin/sh\nexit 4\n")
        done = subprocess.run(["make", "certify-all"], cwd=house, capture_output=True, text=True, timeout=60)
        assert done.returncode == 2 and "Error 4" in done.stderr
        assert (house / "said").read_text().splitlines()[-1] == "vbench|down|--purge|--name|all-2|"

    def test_a_signal_to_make_ends_the_runs_and_the_benches_are_removed(self, house: Path) -> None:
        program(
            house / ".venv/bin/niclab",
            f"#!/bin/bash\ntrap 'sleep 1; echo ended >> \"{house}/said\"; exit 3' TERM\n"
            f'touch "{house}/began"\nwhile :; do sleep 0.1; done\n',
        )
        running = subprocess.Popen(["make", "certify-all"], cwd=house, stderr=subprocess.PIPE, text=True)
        until((house / "began").exists, within=30, what="niclab certify-all to begin")
        running.terminate()
        running.communicate(timeout=30)
        assert (house / "said").read_text().splitlines()[-3:] == [
            "ended",
            "vbench|down|--purge|--name|all-1|",
            "vbench|down|--purge|--name|all-2|",
        ]

    def test_only_the_tests_need_daemons_and_linters(self, house: Path) -> None:
        said = self.make(house, "setup-test")
        assert "snmpd:snmpd" in said[-1]
        plain = subprocess.run(["make", "-n", "-B", "certify", "BENCH=x"], cwd=house, capture_output=True, text=True)
        for unwanted in ("requirements-dev", "snmpd", "qemu", "vbench image"):
            assert unwanted not in plain.stdout


class TestDebianPackages:
    def install(self, tmp_path: Path, *pairs: str) -> list[str]:
        """Install as root with an apt-get that writes down what it is asked, and the policy it meets."""
        said = tmp_path / "said"
        program(tmp_path / "bin/apt-get", APT.format(said=said))
        program(tmp_path / "bin/systemctl", SAYING.format(said=said))
        program(tmp_path / "bin/id", "#!/bin/sh\necho 0\n")
        environment = {
            "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}",
            "POLICY_RC_D": str(tmp_path / "policy-rc.d"),
        }
        command = [str(REPOSITORY / "ci" / "debian-packages"), *pairs]
        subprocess.run(command, env=environment, check=True, capture_output=True, timeout=60)
        return said.read_text().splitlines() if said.exists() else []

    def test_no_daemon_is_started(self, tmp_path: Path) -> None:
        said = self.install(tmp_path, "no-such-program:snmpd", "no-such-other:mmdebstrap")
        assert said == [
            *("update -q", "#!/bin/sh", "exit 101"),
            *("install -q -y --no-install-recommends snmpd mmdebstrap", "#!/bin/sh", "exit 101"),
            "systemctl|--quiet|disable|snmpd.service|",
        ]
        assert not (tmp_path / "policy-rc.d").exists()

    def test_the_policy_of_the_controller_stays(self, tmp_path: Path) -> None:
        (tmp_path / "policy-rc.d").write_text("exit 0\n")
        assert "exit 0" in self.install(tmp_path, "no-such-program:snmpd")
        assert (tmp_path / "policy-rc.d").read_text() == "exit 0\n"

    def test_nothing_missing_nothing_installed(self, tmp_path: Path) -> None:
        assert self.install(tmp_path, "bash:bash", "python3-venv:python3-venv") == []


OWN = "BENCH=results/benches/ci.yaml"


class TestCertify:
    """The cards that continuous integration certifies, with a `make` that writes down its call and ends as set."""

    @pytest.fixture
    def house(self, tmp_path: Path) -> Path:
        for name in ("run", "certify"):
            (tmp_path / "house/ci").mkdir(parents=True, exist_ok=True)
            shutil.copy(REPOSITORY / "ci" / name, tmp_path / "house/ci" / name)
        house = tmp_path / "house"
        (house / "ci/cards").write_text("# rows\none linux linux as-found watched\ntwo freebsd linux vendor gates\n")
        (house / "Makefile").write_text("CARD ?= golden\n")
        (house / "results").mkdir()
        (house / "results/latest").symlink_to("some-run")
        program(tmp_path / "bin/git", "#!/bin/sh\necho ${COMMITS:-0}\n")
        return house

    def run(self, house: Path, script: str, *words: str, red: str = "", commits: int = 0) -> tuple[int, list[str], str]:
        said = house / "said"
        program(
            house.parent / "bin/make",
            f'#!/bin/sh\necho "$@" >> "{said}"\ncase "$*" in {red or "nothing"}) exit 2 ;; esac\n',
        )
        environment = {"PATH": f"{house.parent / 'bin'}:{os.environ['PATH']}", "COMMITS": str(commits)}
        done = subprocess.run(
            [str(house / "ci" / script), *words], env=environment, capture_output=True, text=True, timeout=60
        )
        return done.returncode, said.read_text().splitlines() if said.exists() else [], done.stdout + done.stderr

    @pytest.mark.parametrize(
        ("commits", "turn"),
        [
            (4, f"certify {OWN} CARD=one DUT_OS=linux PEER_OS=linux DRIVER="),
            (5, f"certify {OWN} CARD=two DUT_OS=freebsd PEER_OS=linux DRIVER=vendor"),
        ],
    )
    def test_tests_then_the_default_card_then_the_card_whose_turn_it_is(
        self, house: Path, commits: int, turn: str
    ) -> None:
        status, said, _ = self.run(house, "run", commits=commits)
        golden = f"certify {OWN} CARD=golden DUT_OS=linux PEER_OS=linux DRIVER="
        assert said == ["test", "new-bench NAME=ci", golden, "new-bench NAME=ci", turn] and status == 0

    def test_red_tests_end_the_run(self, house: Path) -> None:
        status, said, _ = self.run(house, "run", red="test")
        assert said == ["test"] and status != 0

    def test_a_red_default_card_fails_and_names_its_run_folder(self, house: Path) -> None:
        status, said, printed = self.run(house, "certify", "default", "next", red="*golden*", commits=2)
        assert status == 1 and len(said) == 4
        assert f"run folder: {house.resolve()}/results/some-run" in printed
        assert "red, and a gate: golden, dut linux, peer linux" in printed

    def test_a_red_card_that_is_watched_is_only_named(self, house: Path) -> None:
        status, _, printed = self.run(house, "certify", "next", red="*one*")
        assert status == 0 and "one, dut linux, peer linux, driver as-found: NOT certified, status 2" in printed
        assert "red, and a gate" not in printed

    def test_every_row_is_certified_also_after_a_red_one(self, house: Path) -> None:
        status, said, printed = self.run(house, "certify", "all", red="*two*")
        assert len(said) == 4 and status == 1 and "red, and a gate: two, dut freebsd, peer linux" in printed

    def test_a_call_that_names_nothing_certifies_nothing_and_is_red(self, house: Path) -> None:
        status, said, printed = self.run(house, "certify")
        assert (status, said) == (2, []) and "expected default, next or all" in printed

    def test_a_wrong_word_is_refused(self, house: Path) -> None:
        status, said, printed = self.run(house, "certify", "defualt")
        assert (status, said) == (2, []) and "defualt; expected default, next or all" in printed

    def test_every_sheet_is_certified(self) -> None:
        rows = [line.split() for line in (REPOSITORY / "ci/cards").read_text().splitlines() if line[0] != "#"]
        assert all(
            len(row) == 5 and {row[1], row[2]} <= {"linux", "debian13", "rpm-dnf", "rpm-zypper", "freebsd"}
            for row in rows
        )
        assert all(row[3] in ("as-found", "vendor") and row[4] in ("watched", "gates") for row in rows)
        default = re.search(r"^CARD \?= (.+)$", (REPOSITORY / "Makefile").read_text(), re.MULTILINE)
        assert default and {default[1], *(row[0] for row in rows)} == {
            file.stem for file in (REPOSITORY / "lab/cards").glob("*.yaml")
        }


class TestLocks:
    @pytest.mark.parametrize(
        ("name", "least"),
        [
            ("requirements", 16),
            ("requirements-dev", 16),
            ("ci/locks/pip", 1),
            ("ci/locks/tools", 16),
            ("ci/locks/labgrid", 16),
        ],
    )
    def test_every_package_has_a_hash_and_no_source(self, name: str, least: int) -> None:
        text = (REPOSITORY / f"{name}.lock").read_text()
        packages = re.findall(r"^[a-z].*", text, re.MULTILINE)
        assert len(packages) >= least and all(re.fullmatch(r"[a-z0-9._-]+==\S+( ; .*)? \\", line) for line in packages)
        assert len(re.findall(r"\\\n +--hash=sha256:[0-9a-f]{64}", text)) >= len(packages)
        assert "://" not in text and "--index" not in text and "--find" not in text

    @pytest.mark.parametrize(
        "stem", ["requirements", "requirements-dev", "ci/locks/pip", "ci/locks/tools", "ci/locks/labgrid"]
    )
    def test_the_lock_has_every_pin(self, stem: str) -> None:
        pins = [line for line in (REPOSITORY / f"{stem}.txt").read_text().splitlines() if line[0] not in "#-"]
        locked = {line.split(" ")[0] for line in (REPOSITORY / f"{stem}.lock").read_text().splitlines()}
        assert pins and [pin for pin in pins if pin.lower() not in locked] == []

    def test_both_locks_agree(self) -> None:
        pins: dict[str, str] = {}
        for name in ("requirements.lock", "requirements-dev.lock"):
            for package, version in re.findall(
                r"^([a-z][^=\s]*)==(\S+)", (REPOSITORY / name).read_text(), re.MULTILINE
            ):
                assert pins.setdefault(package, version) == version
