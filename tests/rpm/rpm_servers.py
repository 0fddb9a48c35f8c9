"""Servers with the real rpm, dnf and zypper, and a vendor's signed repository: driver packages, one for each defect."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from niclab.hosts.linux_host import LinuxHost
from niclab.transports.ssh.ssh import Result
from rpmroot import Machine
from vendor import rpm
from vendor.rpm import PUBLIC_KEY, SIGNER, Rpm

NAME = "be2net-modules"
MODULE = "lib/modules/5.14.0/extra/be2net/be2net.ko"
REPOSITORY = "/srv/vendor/rpm"
RELEASES = {
    "dnf": b"ID=rocky\nID_LIKE='rhel centos fedora'\nVERSION_ID=9.4\n",
    "zypper": b"ID=sles\nID_LIKE=suse\nVERSION_ID=15.5\n",
}
OLD, NEW = "4.4.161.0", "12.0.0.0"


def driver(version: str, *relations: tuple[str, str], **others: object) -> Rpm:
    """The driver's package of that version; its file is of that version, too."""
    files = {MODULE: f"driver {version}\n".encode(), "etc/depmod.d/be2net.conf": b"search updates\n"}
    return Rpm(NAME, version, **{"files": files, "relations": relations, **others})  # type: ignore[arg-type]


SYSTEM = Rpm(
    "base-system",
    "1",
    relations=[("Provides", each) for each in ("/bin/sh", "system-release = 9.4", "kernel-core = 5.14.0")],
)
"""Provides what a distribution's packages do, which the database of a root of Debian lacks."""
SOUND = (
    driver(OLD),
    driver(NEW),
    SYSTEM,
    Rpm("mlx-modules", "1.0", files={"lib/modules/5.14.0/extra/mlx.ko": b"mlx\n"}),
    Rpm("manager", "1.0", files={"opt/manager": b"x"}, relations=(("Requires", NAME),)),
    Rpm("manager-new", "1.0", files={"opt/new": b"x"}, relations=(("Requires", f"{NAME} >= 12"),)),
)
"""The packages of the repository that every server knows."""
_FAILS = f"echo '{NAME}: cannot update the boot files' >&2\nexit 1"
HELPER = Rpm("helper-modules", "1.0", files={"opt/helper": b"x"}, scripts={"post": "exit 1"})
BROKEN = Rpm("broken-helper", "1.0", files={"opt/broken": b"x"}, relations=(("Requires", "libnobody"),))
DEFECTS: dict[str, tuple[Rpm, ...]] = {
    "unsigned": (driver("13.0", signed=False),),
    "conflict": (driver("13.1", ("Conflicts", "mlx-modules")),),
    "post fails": (driver("13.2", scripts={"post": _FAILS}),),
    "pre fails": (driver("13.3", scripts={"pre": _FAILS}),),
    "needs": (driver("13.4", ("Requires", "dkms >= 3")),),
    "architecture": (driver("13.5", architecture="ppc64"),),
    "file of another": (driver("13.6", files={"lib/modules/5.14.0/extra/mlx.ko": b"another\n"}),),
    "helper fails": (driver("13.7", ("Requires", "helper-modules")), HELPER),
    "preun fails": (driver("13.8", scripts={"preun": _FAILS}),),
    "postun fails": (driver("13.9", scripts={"postun": _FAILS}),),
    "large": (driver("14.0", files={MODULE: bytes(3_000_000)}),),
    "replaces": (driver("14.1", ("Obsoletes", "mlx-modules")),),
    "killed": (driver("14.2", scripts={"post": "kill -9 $PPID"}),),
    "reboot": (driver("14.3", ("Provides", "installhint(reboot-needed)")),),
    "helper needs": (driver("14.4", ("Requires", "broken-helper")), BROKEN),
    "full disk": (driver("14.5", scripts={"post": "echo 'dracut: No space left on device' >&2\nexit 1"}),),
    "foreign": (driver("14.6"),),
}
"""Packages of a repository each: those of the driver first. ``foreign``: signed with a key that is not the vendor's."""


def version_of(defect: str) -> str:
    """The version of the driver with that defect."""
    return DEFECTS[defect][0].version


@dataclass
class Server:
    """A server, and the lab's way to ask it."""

    machine: Machine
    tool: str

    @property
    def host(self) -> LinuxHost:
        return LinuxHost(self, "dut")

    def run(self, command: str, *, timeout_s: float = 60, check: bool = False) -> Result:
        """Run a command as a shell of the lab does."""
        assert not check
        said = self.machine.run(command, timeout_s)
        return Result(command, said.exit_status, None, said.stdout, said.stderr, 0.0)

    def knows(self, defect: str) -> str:
        """Have the tool ask the repository of a defect; return the driver's version with it."""
        self.add_repository(defect.replace(" ", "-"), f"file://{place(defect)}")
        return version_of(defect)

    def installed(self) -> list[str]:
        """The vendor's packages that rpm has in its database."""
        names = self.machine.must("rpm -qa --qf '%{NAME} %{VERSION}\n'").splitlines()
        return sorted(name for name in names if not name.startswith(("gpg-pubkey", SYSTEM.package)))

    def has(self, name: str, version: str = "1.0") -> None:
        """Have a package installed."""
        assert self.host.drivers.install_package(name, version).refused is None

    def add_repository(self, name: str, url: str, more: str = "") -> None:
        """Have the tool ask one more repository."""
        folder = {"dnf": "/etc/yum.repos.d", "zypper": "/etc/zypp/repos.d"}[self.tool]
        self.machine.write(f"{folder}/{name}.repo", repository(name, url, more).encode())


def repository(name: str, url: str, more: str = "") -> str:
    """The text of a file of repositories, as dnf and zypper both read it."""
    checks = f"enabled=1\nautorefresh=0\ngpgcheck=1\ngpgkey=file://{PUBLIC_KEY}\n"
    return f"[{name}]\nname={name}\nbaseurl={url}\n{checks}{more}"


def place(defect: str) -> str:
    """The folder of a defect's repository."""
    return f"/srv/vendor/{defect.replace(' ', '-')}"


def make_vendor(folder: Path) -> str:
    """Lay what the vendor's repositories and a server that trusts it have into ``folder``; return the key's id."""
    with Machine() as machine:
        key = rpm.make_key(machine)
        for where, packages in {REPOSITORY: SOUND, **{place(each): of for each, of in DEFECTS.items()}}.items():
            signer = SIGNER
            if where == place("foreign"):
                signer = "Somebody else <else@localhost>"
                rpm.make_key(machine, signer, "/root/else")
            for each in packages:
                rpm.build(each, machine, where, signer)
            rpm.publish(machine, where)
        machine.must(f"rpm --import {PUBLIC_KEY} && rpm -i {REPOSITORY}/{SYSTEM.file_name}")
        machine.copy_out(["/srv/vendor", "/var/lib/rpm"], folder)
    return key


@contextmanager
def server(tool: str, vendor: Path, url: str = f"file://{REPOSITORY}") -> Iterator[Server]:
    """A server with one of the tools and the vendor's repository, as new."""
    with Machine(vendor) as machine:
        made = Server(machine, tool)
        machine.must("rm -f /etc/os-release")
        machine.write("/etc/os-release", RELEASES[tool])
        made.add_repository("vendor", url)
        yield made


@contextmanager
def web(folder: Path) -> Iterator[str]:
    """The address of a mirror that serves a folder."""
    handler = partial(_Quiet, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as mirror:
        thread = threading.Thread(target=mirror.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{mirror.server_port}"
        finally:
            mirror.shutdown()
            thread.join()


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Write nothing."""
