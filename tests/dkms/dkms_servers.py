"""Servers with the real dkms, gcc and headers of two kernels, and a vendor's packages of a driver's source.

A package is what Debian's dh_dkms makes of a source: its script calls ``/usr/lib/dkms/common.postinst``.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from niclab.hosts.linux_host import LinuxHost
from niclab.transports.ssh.ssh import Result
from rpmroot import DKMS, Machine
from vendor import deb, repository
from vendor.deb import Deb

NAME, MODULE = "e1000e-dkms", "e1000e"
APT = "srv/vendor/apt"
SOURCE = """\
#include <linux/module.h>
#include <linux/netdevice.h>
MODULE_LICENSE("GPL");
MODULE_VERSION("@V@");
static int __init be_init(void)
{
\treturn 0;
}
static void __exit be_exit(void) { }
module_init(be_init);
module_exit(be_exit);
"""
CONF = """\
PACKAGE_NAME="e1000e"
PACKAGE_VERSION="@V@"
BUILT_MODULE_NAME[0]="e1000e"
DEST_MODULE_LOCATION[0]="/updates/dkms"
AUTOINSTALL="yes"
"""
INSTALL = '[ "$1" != configure ] || /usr/lib/dkms/common.postinst e1000e @V@ /usr/share/e1000e-dkms "" $2'
REMOVE = "dkms remove -m e1000e -v @V@ --all"
AGAINST = 'MAKE[0]="make -C /lib/modules/$(ls /lib/modules | grep cloud)/build M=$dkms_tree/e1000e/@V@/build"\n'


def driver(version: str, source: str = SOURCE, conf: str = CONF, install: str = INSTALL, remove: str = REMOVE) -> Deb:
    """The package of that version."""
    files = {"e1000e.c": source, "Makefile": "obj-m := e1000e.o\n", "dkms.conf": conf}
    scripts = {"postinst": install, "prerm": remove}
    return Deb(
        package=NAME,
        version=version,
        architecture="all",
        description="a driver that DKMS builds",
        files={f"usr/src/e1000e-{version}/{name}": _of(text, version).encode() for name, text in files.items()},
        scripts={name: f"#!/bin/sh\nset -e\n{_of(text, version)}\n" for name, text in scripts.items()},
        relations={"Depends": "dkms"},
    )


def _of(text: str, version: str) -> str:
    return text.replace("@V@", version)


OLD, NEW = "3.8.4", "3.8.7"
_ALWAYS_WELL = "dkms install -m e1000e -v @V@ > /dev/null 2>&1 || :"
_UNDECLARED = SOURCE.replace("return 0", "return undeclared_thing")
DEFECTS = {
    "does not compile": driver("9.1", _UNDECLARED),
    "does not compile, and its script ends well": driver("9.2", _UNDECLARED, install=_ALWAYS_WELL),
    "needs a symbol": driver("9.3", SOURCE.replace("return 0", "extern int nobody_has(void);\n\treturn nobody_has()")),
    "makes another module": driver("9.4", conf=CONF.replace('NAME[0]="e1000e"', 'NAME[0]="e1000"')),
    "is for older kernels": driver("9.5", conf=f'{CONF}BUILD_EXCLUSIVE_KERNEL="^5[.]"\n'),
    "needs a tool": driver("9.6", conf=f'{CONF}MAKE[0]="no-such-tool"\n'),
    "builds for another kernel": driver(
        "9.7", install="dkms install -m e1000e -v @V@ -k $(ls /lib/modules | grep cloud) > /dev/null"
    ),
    "builds against another kernel": driver("9.8", conf=CONF + AGAINST),
    "is not built by itself": driver("9.9", conf=CONF.replace("yes", "")),
    "does not compile for the cloud": driver(
        "9.10", SOURCE.replace("return 0", "#ifndef CONFIG_WLAN\n\treturn undeclared_thing;\n#endif\n\treturn 0")
    ),
    "leaves what was built": driver("9.11", remove=":"),
    "makes a module like the kernel's": driver("9.12", f'{SOURCE}MODULE_INFO(intree, "Y");\n'),
}
"""The packages of the repository that have a defect."""


def version_of(defect: str) -> str:
    """The version of the driver with that defect."""
    return DEFECTS[defect].version


@dataclass
class Server:
    """A server, and the lab's way to ask it."""

    machine: Machine

    @property
    def host(self) -> LinuxHost:
        return LinuxHost(self, "dut")

    def run(self, command: str, *, timeout_s: float = 60, check: bool = False) -> Result:
        """Run a command as a shell of the lab does."""
        assert not check
        said = self.machine.run(command, timeout_s)
        return Result(command, said.exit_status, None, said.stdout, said.stderr, 0.0)

    @property
    def kernels(self) -> list[str]:
        """The kernel that runs, and the other one."""
        return sorted(self.machine.must("ls /lib/modules").split(), key=len)


def make_vendor(folder: Path) -> None:
    """Lay the vendor's repository into ``folder``. It is not signed."""
    apt = folder / APT
    apt.mkdir(parents=True)
    packages = [driver(OLD), driver(NEW), *DEFECTS.values()]
    repository.publish(apt, [(each.control, deb.build(each, apt)) for each in packages], _Nobody())  # type: ignore[arg-type]


class _Nobody:
    def clear_sign(self, *_: object) -> None:
        """Sign nothing."""


@contextmanager
def server(vendor: Path) -> Iterator[Server]:
    """A server as new."""
    with Machine(vendor, packages=DKMS) as machine:
        made = Server(machine)
        running, other = made.kernels
        uname = f'#!/bin/sh\n[ "$*" != -r ] || {{ echo {running}; exit; }}\nexec /usr/bin/uname.own "$@"\n'
        machine.must("mv /usr/bin/uname /usr/bin/uname.own")
        machine.write("/usr/bin/uname", uname.encode())
        machine.must(f"chmod 755 /usr/bin/uname && mkdir /lib/modules/{running}/kernel /lib/modules/{other}/kernel")
        machine.write("/etc/apt/sources.list", f"deb [trusted=yes] file:/{APT} ./\n".encode())
        machine.write("/etc/apt/apt.conf.d/99user", b'APT::Sandbox::User "root";\n')
        machine.must("apt-get -q update")
        yield made
