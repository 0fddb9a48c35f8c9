"""The words of the real dkms 3.0.10, those of release 2, and of gcc 12 in make.log: who is at fault by them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from fake_shell import Answer, FakeShell, Script

from niclab.core.verdict import BenchFault, NotApplicable
from niclab.hosts.drivers.build_records import Build, BuildEnd, InstalledKernel, Source
from niclab.hosts.drivers.builds import _ANY_MODULE, _KERNELS
from niclab.hosts.drivers.dkms import read_build, read_installed, read_kernels, read_source
from niclab.hosts.errors import ReadError
from niclab.hosts.freebsd_host import FreeBsdHost
from niclab.hosts.linux_host import LinuxHost

KERNEL, CLOUD = "6.1.0-56-amd64", "6.1.0-56-cloud-amd64"
SOURCE = Source("niclabdrv", "1.1")
HEAD = f"DKMS make.log for niclabdrv-1.1 for kernel {KERNEL} (x86_64)\nSat Nov 28 09:20:58 UTC 2026\n"
MAKE = f"make: Entering directory '/usr/src/linux-headers-{KERNEL}'\n  CC [M]  {SOURCE.place}/build/niclabdrv.o\n"
C = f"{SOURCE.place}/build/niclabdrv.c"
COMPILE = (
    f"{C}: In function 'a':\n{C}:4:34: error: 'undeclared_thing' undeclared (first use in this function)\n"
    f"    4 | static int __init a(void){{return undeclared_thing;}}\n      |{' ' * 34}^~~~~~~~~~~~~~~~\n"
    f"{C}:4:34: note: each undeclared identifier is reported only once for each function it appears in\n"
    "cc1: some warnings being treated as errors\n"
    f"make[1]: *** [/usr/src/linux-headers-6.1.0-56-common/scripts/Makefile.build:255: {C}] Error 1\n"
)
ROOM = f"{C}:6:1: fatal error: error writing to /tmp/ccoBX9gT.s: No space left on device\ncompilation terminated.\n"
MODPOST = f'ERROR: modpost: "nobody_has" [{SOURCE.place}/build/niclabdrv.ko] undefined!\n'
LICENCE = "FATAL: modpost: GPL-incompatible module niclabdrv.ko uses GPL-only symbol '__put_devmap_managed_page_refs'\n"
OF_HEADER = "/usr/src/linux-headers-6.1.0-56-common/include/linux/pci.h:1428:9: error: expected ';' before 'return'\n"
BAD = (
    f"Building module:\nCleaning build area...\nmake -j2 KERNELRELEASE={KERNEL}...(bad exit status: 2)\n"
    f"Error! Bad return status for module build on kernel: {KERNEL} (x86_64)\n"
    f"Consult {SOURCE.place}/build/make.log for more information.\n"
)
HEADERS = (
    f"Error! Your kernel headers for kernel {KERNEL} cannot be found at /lib/modules/{KERNEL}/build or "
    f"/lib/modules/{KERNEL}/source.\nPlease install the linux-headers-{KERNEL} package or use the --kernelsourcedir "
    "option to tell DKMS where it's located.\n"
)
EXCLUSIVE = (
    f"Error! The {SOURCE.place}/{KERNEL}/x86_64/dkms.conf for module niclabdrv includes a BUILD_EXCLUSIVE directive "
    "which does not match this kernel/arch/config.\nThis indicates that it should not be built.\n"
)
EMPTY = f"Error! The directory {SOURCE.place}/source does not appear to have module source located within it.\n"
OLDER = (
    "Error! Module version 4.4.161.0 for niclabdrv.ko.xz\nis not newer than what is already found in kernel "
    f"{KERNEL} (12.0.0.0).\nYou may override by specifying --force.\n"
)
SAME = (
    f"Module version 12.0.0.0 for niclabdrv.ko.xz\nexactly matches what is already found in kernel {KERNEL}.\n"
    "DKMS will not replace this module.\nYou may override by specifying --force.\n"
)
NO_MODULE = f"Error!  Build of other.ko failed for: {KERNEL} (x86_64)\nMake sure the name of the generated module is\n"


@pytest.mark.parametrize(
    ("status", "said", "log", "end", "words"),
    [
        (0, "", "", BuildEnd.DONE, ""),
        (10, BAD, COMPILE, BuildEnd.OF_DRIVER, "niclabdrv.c:4:34: error: 'undeclared_thing' undeclared (first use"),
        (10, BAD, COMPILE.replace(C, "niclabdrv.c"), BuildEnd.OF_DRIVER, "niclabdrv.c:4:34: error: 'undeclared_th"),
        (10, BAD, MODPOST, BuildEnd.OF_DRIVER, 'ERROR: modpost: "nobody_has" ['),
        (10, BAD, MODPOST.replace("modpost: ", ""), BuildEnd.OF_DRIVER, 'ERROR: "nobody_has" ['),
        (10, BAD, LICENCE, BuildEnd.OF_DRIVER, "FATAL: modpost: GPL-incompatible module niclabdrv.ko"),
        (7, NO_MODULE, MAKE, BuildEnd.OF_DRIVER, "Error!  Build of other.ko failed for: 6.1"),
        (10, BAD, ROOM, BuildEnd.OF_SERVER, "error writing to /tmp/ccoBX9gT.s: No space left on device"),
        (
            10,
            BAD,
            f"{COMPILE}gcc-12: fatal error: Killed signal terminated program cc1\n",
            BuildEnd.OF_SERVER,
            "Killed",
        ),
        (10, BAD, "/bin/sh: 1: gcc-12: not found\n", BuildEnd.UNCLEAR, "gcc-12: not found"),
        (10, BAD, OF_HEADER, BuildEnd.UNCLEAR, "pci.h:1428:9: error"),
        (10, BAD, "", BuildEnd.UNCLEAR, "Error! Bad return status for module build"),
        (1, HEADERS, "", BuildEnd.NO_HEADERS, "Please install"),
        (77, EXCLUSIVE, "", BuildEnd.EXCLUDED, "BUILD_EXCLUSIVE directive which does not match"),
        (8, EMPTY, "", BuildEnd.NO_SOURCE, "does not appear to have module source"),
        (6, OLDER, "", BuildEnd.NOT_NEWER, f"is not newer than what is already found in kernel {KERNEL} (12.0.0.0)."),
        (0, OLDER, "", BuildEnd.NOT_NEWER, "is not newer than what is already found in kernel"),
        (0, SAME, "", BuildEnd.NOT_NEWER, f"exactly matches what is already found in kernel {KERNEL}."),
        (None, "", "", BuildEnd.UNCLEAR, "nothing"),
    ],
)
def test_a_build_is_told_by_the_words_of_dkms_and_the_compiler(
    status: int | None, said: str, log: str, end: BuildEnd, words: str
) -> None:
    found = read_build(SOURCE, status, said, log and HEAD + MAKE + log)
    assert found.end is end
    if end is not BuildEnd.NO_HEADERS:
        assert words in found.words


STATUS = (
    f"niclabdrv/1.1: added\nniclabdrv/1.2, {KERNEL}, x86_64: built\nniclabdrv/1.3, {KERNEL}, x86_64: installed\n"
    f"niclabdrv/1.4, {KERNEL}, x86_64: installed (WARNING! Diff between built and installed module!)\n"
    f"niclabdrv/1.5, {CLOUD}, x86_64: installed (original_module exists) (WARNING! Missing some built modules!)\n"
    f"niclabdrv, 1.6, {CLOUD}, x86_64: installed (original_module exists)\n"
    f"niclabdrv, 1.7, {CLOUD}, x86_64: installed-weak from 5.14.0-70.el9.x86_64\n"
    "niclabdrv/1.8: broken\n"
)


def test_what_is_installed_for_which_kernel() -> None:
    assert read_installed(STATUS) == {
        ("niclabdrv-1.3", KERNEL),
        ("niclabdrv-1.4", KERNEL),
        ("niclabdrv-1.6", CLOUD),
        ("niclabdrv-1.7", CLOUD),
    }
    assert read_installed("") == frozenset()


@pytest.mark.parametrize("text", ["niclabdrv/1.1: happy\n", "Error! Could not locate dkms.conf file.\n", "x: added\n"])
def test_other_words_of_dkms_are_refused(text: str) -> None:
    with pytest.raises(ReadError, match="cannot read dkms status: line 1"):
        read_installed(text)


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("be2net-12.0.0.0", Source("be2net", "12.0.0.0")),
        ("i40e-2.24.6-1", Source("i40e", "2.24.6-1")),
        ("mlnx-ofed-kernel-5.8", Source("mlnx-ofed-kernel", "5.8")),
    ],
)
def test_a_source_is_a_name_and_a_version(name: str, source: Source) -> None:
    assert read_source(name) == source and str(source) == name


@pytest.mark.parametrize("name", ["be2net", "be2net-latest", "-1.0", "be;2-1"])
def test_a_folder_that_is_no_source_is_refused(name: str) -> None:
    with pytest.raises(ReadError, match="expected NAME-VERSION of a source of DKMS"):
        read_source(name)


def test_kernels_and_the_packages_of_their_headers() -> None:
    text = f"{KERNEL} running none\n{CLOUD} other headers\n"
    running = InstalledKernel(KERNEL, True, False, f"linux-headers-{KERNEL}")
    cloud = InstalledKernel(CLOUD, False, True, f"linux-headers-{CLOUD}")
    assert read_kernels(text, "linux-headers-{release}") == (running, cloud)
    (suse,) = read_kernels("5.14.21-150500.53-default running none\n", "kernel-{flavour}-devel")
    assert suse.headers == "kernel-default-devel"


@pytest.mark.parametrize("text", ["", f"{CLOUD} other headers\n", f"{KERNEL} running\n", f"{KERNEL} here headers\n"])
def test_kernels_without_the_one_that_runs_are_refused(text: str) -> None:
    with pytest.raises(ReadError, match="cannot read kernels"):
        read_kernels(text, "x")


INSTALL, LOG = f"dkms install -m niclabdrv -v 1.1 -k {KERNEL}", f"cat {SOURCE.place}/build/make.log"


def host(**script: Script) -> LinuxHost:
    """A server whose builds end so: by names of the commands."""
    words = {
        "install": INSTALL,
        "log": LOG,
        "status": "dkms status",
        "any_module": _ANY_MODULE.replace("{release}", KERNEL),
        "release": "cat /etc/os-release",
        "kernels": _KERNELS,
    }
    return LinuxHost(FakeShell({words[name]: answer for name, answer in script.items()}), "dut")


FAILED = Answer(stderr=BAD, exit_status=10)


def test_a_build_that_fails_is_the_drivers_where_a_module_of_the_lab_is_built() -> None:
    log = HEAD + MAKE + COMPILE
    found = host(install=FAILED, log=log, any_module="LD [M] niclab.ko\n").builds.build(SOURCE, KERNEL)
    assert found.end is BuildEnd.OF_DRIVER
    lacks = Answer("/bin/sh: 1: gcc-12: not found\n", 2)
    found = host(install=FAILED, log=log, any_module=lacks).builds.build(SOURCE, KERNEL)
    assert found == Build(BuildEnd.OF_SERVER, "/bin/sh: 1: gcc-12: not found")


def test_a_log_of_another_kernel_says_nothing() -> None:
    log = HEAD.replace(KERNEL, CLOUD) + MAKE + COMPILE
    found = host(install=FAILED, log=log, any_module="").builds.build(SOURCE, KERNEL)
    assert found.end is BuildEnd.UNCLEAR


def test_a_build_that_leaves_nothing_installed_is_unclear() -> None:
    script: dict[str, Script] = {"install": "Done.\n", "log": Answer(exit_status=1), "any_module": ""}
    done = host(status=f"niclabdrv/1.1, {KERNEL}, x86_64: installed\n", **script)
    assert done.builds.build(SOURCE, KERNEL) == Build(BuildEnd.DONE)
    assert host(status="niclabdrv/1.1: added\n", **script).builds.build(SOURCE, KERNEL).end is BuildEnd.UNCLEAR


@pytest.mark.parametrize(
    ("system", "headers"),
    [
        ("ID=debian\n", f"linux-headers-{KERNEL}"),
        ("ID=rocky\nID_LIKE='rhel centos fedora'\n", f"kernel-devel-{KERNEL}"),
        ("ID=sles\nID_LIKE=suse\n", "kernel-amd64-devel"),
    ],
)
def test_each_system_names_its_own_package_of_headers(system: str, headers: str) -> None:
    (kernel,) = host(release=system, kernels=f"{KERNEL} running none\n").builds.kernels()
    assert kernel.headers == headers


DKMS = """#!/bin/sh
echo "$*" >> {0}/called
case $1 in
status) [ ! -e {0}/built ] || echo "niclabdrv/1.1, 6.1.0-56-amd64, x86_64: installed" ;;
install) touch {0}/built ;;
remove) rm {0}/built ;;
esac
"""


@pytest.mark.parametrize("was", [True, False])
@pytest.mark.parametrize("is_built", [True, False])
def test_the_undo_of_a_build_brings_back_what_there_was_and_runs_twice(
    tmp_path: Path, was: bool, is_built: bool
) -> None:
    (tmp_path / "bin").mkdir()
    tool = tmp_path / "bin" / "dkms"
    tool.write_text(DKMS.format(tmp_path), encoding="utf-8")
    tool.chmod(0o755)
    (tmp_path / str(SOURCE)).mkdir()
    (tmp_path / str(SOURCE) / "dkms.conf").touch()
    if is_built:
        (tmp_path / "built").touch()
    state = "installed" if was else "added"
    shown = f"niclabdrv/1.1, {KERNEL}, x86_64: {state}\n" if was else "niclabdrv/1.1: added\n"
    command = host(status=shown).builds.restoring(SOURCE, KERNEL).replace("/usr/src", str(tmp_path))
    path = {"PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin"}
    for _ in range(2):
        assert subprocess.run(["sh", "-c", command], env=path, check=False).returncode == 0
        assert (tmp_path / "built").exists() is was
    changed = [line for line in (tmp_path / "called").read_text().splitlines() if not line.startswith("status")]
    wanted = "install" if was else "remove"
    assert changed == ([] if was is is_built else [f"{wanted} -m niclabdrv -v 1.1 -k {KERNEL}"])
    (tmp_path / str(SOURCE) / "dkms.conf").unlink()  # the package is gone, and dkms with it
    tool.unlink()
    assert subprocess.run(["sh", "-c", command], env=path, check=False).returncode == 0


def test_a_link_to_a_module_that_is_gone_remains(tmp_path: Path) -> None:
    """As in weak-updates of a kernel, to what was built for another one."""
    link, gone = tmp_path / "oce.ko", tmp_path / "gone.ko"
    link.symlink_to(gone)

    def shell(command: str) -> str:
        return subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True).stdout

    server = LinuxHost(FakeShell({"for f in...": shell}), "dut")
    assert server.builds.remaining([str(link), str(gone)]) == (str(link),)


def test_a_server_without_dkms_is_a_fault() -> None:
    with pytest.raises(BenchFault, match="`dkms status` failed with exit status 127"):
        host(status=Answer(stderr="sh: dkms: not found\n", exit_status=127)).builds.is_installed(SOURCE, KERNEL)


def test_freebsd_builds_nothing() -> None:
    builds = FreeBsdHost(FakeShell({}), "dut").builds
    assert builds.sources("oce") == builds.files([SOURCE]) == builds.remaining(["x"]) == ()
    for ask in (
        builds.kernels,
        builds.is_at_installation,
        lambda: builds.is_installed(SOURCE, KERNEL),
        lambda: builds.build(SOURCE, KERNEL),
        lambda: builds.build_again(SOURCE, KERNEL),
        lambda: builds.restoring(SOURCE, KERNEL),
        lambda: builds.module_for("oce", KERNEL),
        lambda: builds.remove_remaining(["x"]),
    ):
        with pytest.raises(NotApplicable, match="FreeBSD's packages bring their modules built"):
            ask()
