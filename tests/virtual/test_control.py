"""Control sockets: one JSON line asks, one JSON line answers, and nobody waits beyond the deadline."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from bench_fakes import short_folder

from control import LINE_LIMIT_BYTES, ControlError, ask, serve


@pytest.fixture
def path() -> Iterator[Path]:
    with short_folder() as folder:
        yield folder / "part.control"


async def _echo(request: dict[str, Any]) -> dict[str, Any]:
    if "bad" in request:
        raise ValueError("bad: not wanted")
    return {"asked": request}


def _against_server(path: Path, client: Callable[[], Any]) -> Any:
    """Run the blocking ``client`` while a server of ``_echo`` is there."""

    async def scenario() -> Any:
        async with await serve(path, _echo):
            return await asyncio.to_thread(client)

    return asyncio.run(scenario())


def test_a_request_gets_its_answer(path: Path) -> None:
    assert _against_server(path, lambda: ask(path, {"n": 1})) == {"asked": {"n": 1}}


def test_an_answer_may_be_long(path: Path) -> None:
    text = "x" * 300_000
    assert _against_server(path, lambda: ask(path, {"text": text})) == {"asked": {"text": text}}


def test_a_socket_file_left_behind_is_no_obstacle(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    with pytest.raises(ControlError, match=r"part does not answer on .*Connection refused"):
        ask(path, {})
    assert _against_server(path, lambda: ask(path, {})) == {"asked": {}}


def test_a_refusal_is_an_error_in_its_own_words_and_the_server_goes_on(path: Path) -> None:
    def client() -> dict[str, Any]:
        with pytest.raises(ControlError, match=r"^bad: not wanted$"):
            ask(path, {"bad": 1})
        return ask(path, {"good": 1})

    assert _against_server(path, client) == {"asked": {"good": 1}}


def _say(path: Path, *lines: bytes) -> list[bytes]:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(5)
        connection.connect(str(path))
        answers = connection.makefile("rb")
        said = []
        for line in lines:
            connection.sendall(line)
            said.append(answers.readline())
        return said


def test_what_is_no_request_is_answered_and_the_next_line_is_heard(path: Path) -> None:
    not_json, not_object, good = _against_server(path, lambda: _say(path, b"{\n", b"[1]\n", b'{"n": 2}\n'))
    assert b'"error"' in not_json
    assert b"[1] is no JSON object" in not_object
    assert good == b'{"asked": {"n": 2}}\n'


def test_nobody_there_is_named() -> None:
    with pytest.raises(ControlError, match=r"part does not answer on /no/where/part\.control: .*No such file"):
        ask(Path("/no/where/part.control"), {})


@pytest.fixture
def answering(path: Path) -> Iterator[Callable[..., None]]:
    """Starts a server that sends these pieces, one every ``every_s``, and then hangs up or stays silent."""
    stop = threading.Event()
    threads: list[threading.Thread] = []

    def serve_pieces(*pieces: bytes, every_s: float = 0.0, stay: bool = False) -> None:
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(path))
        listener.listen()

        def work() -> None:
            connection, _ = listener.accept()
            with listener, connection:
                connection.recv(65536)
                for piece in pieces:
                    if stop.wait(every_s):
                        return
                    try:
                        connection.sendall(piece)
                    except BrokenPipeError:
                        return  # who asked has given up, as a test wants
                if stay:
                    stop.wait(60)

        threads.append(threading.Thread(target=work))
        threads[0].start()

    yield serve_pieces
    stop.set()
    for thread in threads:
        thread.join(5)


def test_a_silent_part_is_given_up_at_the_deadline(path: Path, answering: Callable[..., None]) -> None:
    answering(stay=True)
    began = time.monotonic()
    with pytest.raises(ControlError, match=r"part does not answer on .* within 0\.2 s"):
        ask(path, {}, deadline_s=0.2)
    assert 0.2 <= time.monotonic() - began < 30


def test_a_part_that_drips_is_given_up_at_the_deadline_too(path: Path, answering: Callable[..., None]) -> None:
    answering(*[b" "] * 1200, every_s=0.05, stay=True)
    began = time.monotonic()
    with pytest.raises(ControlError, match=r"within 0\.3 s"):
        ask(path, {}, deadline_s=0.3)
    assert 0.3 <= time.monotonic() - began < 30


@pytest.mark.parametrize(
    ("pieces", "complaint"),
    [
        ([], "part hung up without an answer$"),
        ([b'{"half": '], "part hung up without an answer, after"),
        ([b"hello\n"], "part: its answer b'hello.n' is not JSON"),
        ([b"[1]\n"], "part: its answer .* is no JSON object"),
        ([b'{"error": "no such cable"}\n'], "^no such cable$"),
        ([b"x" * LINE_LIMIT_BYTES], "hung up without an answer, after"),
    ],
    ids=["hang-up", "half", "text", "list", "error", "endless"],
)
def test_a_wrong_answer_is_one_clear_error(
    path: Path, answering: Callable[..., None], pieces: list[bytes], complaint: str
) -> None:
    answering(*pieces)
    with pytest.raises(ControlError, match=complaint):
        ask(path, {}, deadline_s=5)


def test_pieces_of_an_answer_are_put_together(path: Path, answering: Callable[..., None]) -> None:
    answering(b'{"a": ', b"1}", b"\n", every_s=0.02)
    assert ask(path, {}, deadline_s=5) == {"a": 1}
