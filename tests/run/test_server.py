"""One server: how it is cycled, waited for and recovered, and its console reopened."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from threading import Thread
from typing import Any, cast

import pytest
from fake_bench import FakeBench

from niclab.bench.records import Role
from niclab.core.verdict import BenchFault, NotApplicable
from niclab.hosts.freebsd_host import FreeBsdHost
from niclab.hosts.linux_host import LinuxHost
from niclab.hosts.system.linux_texts import read_boot_id
from niclab.run.run import Run
from niclab.run.server import Server
from niclab.transports import AuthenticationFailed, ConnectionLost
from niclab.transports.bmc.bmc import CommandRefused, InsufficientPrivilege, NotNow, PowerAction, PowerState
from niclab.transports.ssh.ssh import Result


@pytest.fixture
def dut(bench: FakeBench, taken: Run, monkeypatch: pytest.MonkeyPatch) -> Server:
    """The dut, which is given a fifth of a second to boot."""
    assert bench.dut.alive
    server = taken.server(Role.DUT)
    boot = server.description.boot.model_copy(update={"ready_within_s": 0.2})
    monkeypatch.setattr(server, "description", server.description.model_copy(update={"boot": boot}))
    return server


class TestWaiting:
    def test_a_server_that_answers_is_ready(self, dut: Server) -> None:
        dut.wait_ready()
        dut.wait_ready(since="another boot")

    def test_the_boot_that_was_running_is_not_enough(self, bench: FakeBench, dut: Server) -> None:
        with pytest.raises(BenchFault, match=r"^dut to answer over SSH: not within 0\.2 s"):
            dut.wait_ready(since=bench.dut.boot_id())

    def test_a_dead_server_is_not_ready(self, bench: FakeBench, dut: Server) -> None:
        bench.dut.crash()
        with pytest.raises(BenchFault, match=r"^dut to answer over SSH"):
            dut.wait_ready()

    def test_a_reboot_waits_for_the_new_boot(
        self, bench: FakeBench, dut: Server, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        dut.reboot()
        assert bench.dut.boots == 2
        monkeypatch.setattr(bench.dut, "reboot", lambda: None)  # the order is lost
        with pytest.raises(BenchFault, match=r"^dut to answer over SSH"):
            dut.reboot()

    def test_a_server_that_goes_down_without_a_boot_id_is_waited_for(
        self, bench: FakeBench, dut: Server, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        boot = "3f8e6a80-5d1c-4d5b-8ad1-6f1e2b8a9c77"
        before, answers = bench.dut.boot_id(), ["", boot, boot]  # the journal notes it too
        monkeypatch.setattr(bench.dut, "boot_id", lambda: read_boot_id(answers.pop(0)))
        dut.wait_ready(since=before)
        assert answers == []

    def test_an_ssh_server_is_asked_less_often_and_one_that_boots_is_not(
        self, dut: Server, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """OpenSSH 9.8 and later shut out a client that connects each fifth of a second without logging in."""
        greetings = [*6 * [b"SSH-"], *3 * [b""], b"Not ", b"HTTP", b"SSH-", b"SSH-"]
        answers, pauses = [*6 * [False], False, True], list[float]()
        monkeypatch.setattr("niclab.core.wait.time.sleep", pauses.append)
        monkeypatch.setattr(dut, "_greeting", lambda: greetings.pop(0))
        monkeypatch.setattr(dut, "answers", lambda: answers.pop(0))
        boot = dut.description.boot.model_copy(update={"ready_within_s": 60})
        monkeypatch.setattr(dut, "description", dut.description.model_copy(update={"boot": boot}))
        dut.wait_ready()
        assert pauses == [0.4, 0.8, 1.6, 2.0, 2.0, 2.0, 0.2, 0.2, 0.2, 0.4, 0.8, 1.6]
        assert (greetings, answers) == ([], [])

    @pytest.mark.parametrize("system", [LinuxHost, FreeBsdHost])
    @pytest.mark.parametrize("answer", ["", "\n", "Connection closed"])
    def test_an_empty_answer_is_no_boot_id(
        self, bench: FakeBench, system: type[LinuxHost | FreeBsdHost], answer: str
    ) -> None:
        ssh = bench.ssh[Role.DUT]
        ssh.replies.update({"export LC_ALL=C": answer})
        with pytest.raises(BenchFault, match=r"boot.id"):
            system(cast(Any, ssh), "dut").system.boot_id()

    @pytest.mark.parametrize("status", [1, 127, None])
    def test_a_shell_that_fails_true_does_not_answer(self, bench: FakeBench, dut: Server, status: int | None) -> None:
        assert dut.answers()
        bench.ssh[Role.DUT].replies["true"] = Result("true", status, None, "", "", 0.1)
        assert not dut.answers()


class TestPower:
    def test_a_cycle_closes_cuts_and_returns(self, bench: FakeBench, dut: Server) -> None:
        dut.power_cycle()
        assert bench.ssh[Role.DUT].closed == 1
        assert bench.bmcs[Role.DUT]["ipmi"].orders == [PowerAction.OFF, PowerAction.ON]
        assert bench.dut.boots == 2

    @pytest.mark.parametrize(("order", "words"), [("power_cycle", "power off and on"), ("reset", "reset")])
    def test_the_bmc_of_another_server_is_named(self, bench: FakeBench, dut: Server, order: str, words: str) -> None:
        bench.bmcs[Role.DUT]["ipmi"].elsewhere = True
        with pytest.raises(BenchFault) as caught:
            getattr(dut, order)()
        assert str(caught.value) == (
            f"dut BMC: has carried out {words}, and dut still runs the boot dut-boot-1; expected another boot: "
            "is this the BMC of another server?"
        )
        bench.dut.crash()
        with pytest.raises(BenchFault, match=r"^dut to answer over SSH: not within 0\.2 s"):
            getattr(dut, order)()

    @pytest.mark.parametrize("order", ["power_cycle", "reset"])
    def test_a_server_that_dies_of_the_order_and_stays_away_is_not_the_bmcs(
        self, bench: FakeBench, dut: Server, order: str
    ) -> None:
        bench.dut.on_boot = bench.dut.crash
        with pytest.raises(BenchFault, match=r"^dut to answer over SSH: not within 0\.2 s"):
            getattr(dut, order)()

    @pytest.mark.parametrize("order", ["power_cycle", "reset"])
    def test_a_server_that_the_lab_has_crashed_is_not_asked_for_its_boot(
        self, bench: FakeBench, dut: Server, monkeypatch: pytest.MonkeyPatch, order: str
    ) -> None:
        """It may die between two questions."""
        dut.crash()
        asked = list[int]()
        monkeypatch.setattr(dut, "answers", lambda: bool(asked.append(bench.dut.boots)) or True)
        getattr(dut, order)()
        assert asked == [2]

    def test_power_that_does_not_go_is_a_fault(
        self, bench: FakeBench, dut: Server, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("niclab.run.server.POWER_WITHIN_S", 0.05)
        bench.bmcs[Role.DUT]["ipmi"].stuck = True
        with pytest.raises(BenchFault, match=r"^dut BMC: power is not off within"):
            dut.power_cycle()
        assert bench.bmcs[Role.DUT]["ipmi"].orders == [PowerAction.OFF]

    def test_power_that_does_not_go_is_given_back_and_stays_in_the_journal(
        self, bench: FakeBench, taken: Run, dut: Server, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The BMC takes the order and is busy until the deadline; the power goes meanwhile."""
        monkeypatch.setattr("niclab.run.server.POWER_WITHIN_S", 0.3)
        bmc = bench.bmcs[Role.DUT]["ipmi"]
        own, set_power, wanted = bmc.power_status, bmc.set_power, list[PowerState]()

        def noted(state: PowerState, within_s: float) -> None:
            wanted.append(state)
            set_power(state, within_s)

        def busy() -> PowerState:
            if bmc.orders and wanted[-1] is PowerState.OFF:
                raise NotNow("dut BMC: HTTP 503: too many user sessions")
            return own()

        monkeypatch.setattr(bmc, "set_power", noted)
        monkeypatch.setattr(bmc, "power_status", busy)
        with pytest.raises(
            BenchFault, match=r"^dut BMC: power is not off within 0\.3 s; last seen: .*HTTP 503: too many"
        ):
            dut.power_cycle()
        assert bmc.orders == [PowerAction.OFF, PowerAction.ON]
        assert bench.dut.power is PowerState.ON
        assert [str(entry.action) for entry in taken.journal.pending()][:1] == ["power on dut: on"]

    @pytest.mark.parametrize("order", [PowerAction.OFF, PowerAction.ON])
    @pytest.mark.parametrize("fault", [NotNow("dut BMC: HTTP 503"), ConnectionLost("dut BMC: no answer")])
    @pytest.mark.parametrize("done", [True, False])
    def test_an_order_that_is_not_answered_once_leaves_no_server_without_power(
        self, bench: FakeBench, taken: Run, dut: Server, monkeypatch: pytest.MonkeyPatch,
        order: PowerAction, fault: Exception, done: bool,
    ) -> None:  # fmt: skip
        monkeypatch.setattr("niclab.transports.bmc.bmc.ASK_AGAIN_EVERY_S", 0.01)
        bmc, before = bench.bmcs[Role.DUT]["ipmi"], taken.journal.pending()
        own, faults = bmc.control, [fault]

        def moody(action: PowerAction) -> None:
            if action is not order or not faults or done:
                own(action)
            if action is order and faults:
                raise faults.pop()

        monkeypatch.setattr(bmc, "control", moody)
        dut.power_cycle()
        assert bench.dut.power is PowerState.ON and bench.dut.boots == 2
        assert taken.journal.pending() == before

    def test_power_that_does_not_return_stays_in_the_journal(
        self, bench: FakeBench, taken: Run, dut: Server, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Whoever orders the cycle: a recovery does as a test."""
        monkeypatch.setattr("niclab.run.server.POWER_WITHIN_S", 0.1)
        bmc = bench.bmcs[Role.DUT]["ipmi"]
        own = bmc.control

        def off_only(action: PowerAction) -> None:
            if action is PowerAction.ON:
                raise CommandRefused("dut BMC: power on: refused")
            own(action)

        monkeypatch.setattr(bmc, "control", off_only)
        with pytest.raises(
            BenchFault, match=r"power is not on within 0\.1 s; last seen: off; dut BMC: power on: refused"
        ):
            dut.cycle_power()
        assert str(taken.journal.pending()[0].action) == "power on dut: on"

    @pytest.mark.parametrize(
        "fault", [AuthenticationFailed("dut BMC: refused"), InsufficientPrivilege("dut BMC: may not")]
    )
    def test_a_user_who_is_refused_is_not_tried_until_the_deadline(
        self, bench: FakeBench, dut: Server, monkeypatch: pytest.MonkeyPatch, fault: Exception
    ) -> None:
        asked = list[int]()

        def refuse() -> PowerState:
            asked.append(1)
            raise fault

        monkeypatch.setattr(bench.bmcs[Role.DUT]["ipmi"], "power_status", refuse)
        with pytest.raises(type(fault)):
            dut.bmc.set_power(PowerState.OFF, within_s=5)
        assert len(asked) == 1

    @pytest.mark.parametrize(("use", "protocol"), [(None, "ipmi"), ("ipmi", "ipmi"), ("redfish", "redfish")])
    def test_the_bench_file_chooses_the_protocol(
        self, bench: FakeBench, taken: Run, use: str | None, protocol: str
    ) -> None:
        if use:
            bench.edit(bench.file, ("    bmc:\n", f"    bmc:\n      use: {use}\n"))
        server = bench.server_class(bench.load()[0], Role.DUT, taken.secrets, taken.notes)
        assert server.bmc is bench.bmcs[Role.DUT][protocol]


class TestGreeting:
    """The quick look before a login, at a real socket."""

    @pytest.fixture
    def listener(self) -> Iterator[socket.socket]:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            yield listener

    def greeting(self, bench: FakeBench, taken: Run, port: int) -> bytes:
        bench.edit(bench.file, ("127.77.1.10", "127.0.0.1"), ("port: 2222", f"port: {port}"))
        server = Server(bench.load()[0], Role.DUT, taken.secrets, taken.notes)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("niclab.run.server.GREETING_WITHIN_S", 0.2)
            return server._greeting()

    @pytest.mark.parametrize("banner", [b"SSH-2.0-x\r\n", b"HTTP/1.1", b""])
    def test_the_first_words_are_heard(
        self, bench: FakeBench, taken: Run, listener: socket.socket, banner: bytes
    ) -> None:
        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.sendall(banner)

        thread = Thread(target=serve)
        thread.start()
        assert self.greeting(bench, taken, listener.getsockname()[1]) == banner[:4]
        thread.join(timeout=5)

    def test_a_port_that_takes_the_connection_and_is_silent_does_not_greet(
        self, bench: FakeBench, taken: Run, listener: socket.socket
    ) -> None:
        assert not self.greeting(bench, taken, listener.getsockname()[1])

    def test_nobody_there_does_not_greet(self, bench: FakeBench, taken: Run, listener: socket.socket) -> None:
        port = listener.getsockname()[1]
        listener.close()
        assert not self.greeting(bench, taken, port)


class TestConsole:
    def test_a_lost_one_is_opened_again(self, bench: FakeBench, dut: Server) -> None:
        console = bench.consoles[Role.DUT]
        opened = console.opened
        assert dut.console is dut.console and console.opened == opened
        console.alive = False
        assert dut.console.alive and console.opened == opened + 1

    def test_its_text_begins_at_the_mark(self, bench: FakeBench, dut: Server) -> None:
        dut.start_console_log()
        bench.consoles[Role.DUT].text += "new words"
        assert dut.console_text() == "new words"

    def test_there_may_be_none(self, dut: Server) -> None:
        dut.description = dut.description.model_copy(update={"console": None})
        with pytest.raises(NotApplicable, match=r"^bench virtual: dut has no serial console$"):
            _ = dut.console


def test_files_are_kept_whatever_the_command_did(bench: FakeBench, dut: Server) -> None:
    bench.ssh[Role.DUT].replies = {"good": "fine\n", "bad": Result("bad", 2, None, "half", "no\n", 0.1)}
    kept: dict[str, str] = {}
    dut.files([("a", "good"), ("b", "bad")], lambda name, text: kept.update({name: text}))
    assert kept == {"dut-a.txt": "# good\nfine\n", "dut-b.txt": "# bad\nhalfno\n[exit status 2]\n"}


def test_closing_closes_everything_that_was_opened(bench: FakeBench, dut: Server) -> None:
    dut.close()
    assert bench.ssh[Role.DUT].closed == 1 and bench.consoles[Role.DUT].closed == 1
    assert [bmc.closed for bmc in bench.bmcs[Role.DUT].values()] == [1, 1]


@pytest.mark.parametrize(("system", "kind"), [("linux", LinuxHost), ("freebsd", FreeBsdHost)])
def test_a_server_is_asked_in_the_words_of_its_system(
    bench: FakeBench, taken: Run, system: str, kind: type[object]
) -> None:
    bench.edit(bench.file, ("os: linux", f"os: {system}"))
    server = Server(bench.load()[0], Role.DUT, taken.secrets, taken.notes)
    assert type(server.host) is kind and server.host.name == "dut"
