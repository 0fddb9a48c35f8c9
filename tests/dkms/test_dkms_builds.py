"""The real dkms builds, does not build, and removes a vendor's driver; its words say who is at fault."""

from __future__ import annotations

from contextlib import nullcontext

import pytest
from dkms_servers import MODULE, NAME, NEW, OLD, Server, version_of

from niclab.checks.dkms.built import require_built, require_built_for_others, require_nothing_left
from niclab.core.verdict import BenchFault, CardFailure, NotApplicable, Undecided

pytestmark = pytest.mark.slow


def install(server: Server, version: str) -> None:
    attempt = server.host.drivers.install_package(NAME, version)
    assert attempt.now is not None
    require_built(server.host, NAME, MODULE, attempt.refused)
    assert attempt.refused is None


def rebuild(server: Server) -> list[str]:
    said = list[str]()
    require_built_for_others(server.host, NAME, MODULE, said.append, lambda *_: nullcontext())
    return said


def remove(server: Server) -> None:
    host = server.host
    files = host.builds.files(host.builds.sources(NAME))
    assert host.drivers.remove_package(NAME).now is None
    require_nothing_left(host, NAME, files)


def left(server: Server) -> list[str]:
    found = server.machine.must("find /var/lib/dkms/* /lib/modules/*/updates 2> /dev/null || :").split()
    return [each for each in found if "/mok." not in each]


def test_installing_upgrading_and_removing(dkms_server: Server) -> None:
    running, other = dkms_server.kernels
    for version in (OLD, NEW, OLD):
        install(dkms_server, version)
        file = dkms_server.host.builds.module_for(MODULE, running)
        assert (file.version, file.signer) == (version, "DKMS module signing key")
        assert dkms_server.host.drivers.is_of_package(NAME, file.filename or "")
        assert dkms_server.machine.run(f"modinfo -k {other} {MODULE}").exit_status != 0
        (source,) = dkms_server.host.builds.sources(NAME)
        assert str(source) == f"e1000e-{version}" and dkms_server.host.builds.is_installed(source, running)
    remove(dkms_server)
    assert left(dkms_server) == []


@pytest.mark.parametrize(
    ("defect", "verdict", "words"),
    [
        ("does not compile", CardFailure, r"e1000e\.c:7:16: error: 'undeclared_thing' undeclared \(first use"),
        ("does not compile, and its script ends well", CardFailure, r"e1000e\.c:7:16: error: 'undeclared_thing' und"),
        ("needs a symbol", CardFailure, r"modpost: \"nobody_has\" \[/var/lib/dkms/\S+/e1000e\.ko\] undefined!"),
        ("makes another module", CardFailure, r"Build of e1000\.ko failed for: 6\."),
        ("is for older kernels", Undecided, "which the package excludes: Error! .* BUILD_EXCLUSIVE directive"),
        ("needs a tool", Undecided, "no-such-tool: command not found"),
        ("builds for another kernel", CardFailure, "can build one; expected the package to do it"),
        ("builds against another kernel", CardFailure, r"built for 6\.\S+-cloud-amd64; expected DKMS's, built for 6\."),
    ],
)
def test_a_package_that_does_not_bring_the_driver(
    dkms_server: Server, defect: str, verdict: type[Exception], words: str
) -> None:
    with pytest.raises(verdict, match=words):
        install(dkms_server, version_of(defect))
    remove(dkms_server)
    assert left(dkms_server) == []


SERVERS = {
    "headers": ("rm /usr/src/linux-headers-$(uname -r)/include -r", "expected package linux-headers-6."),
    "no folder of headers": ("rm /lib/modules/$(uname -r)/build", "expected package linux-headers-6."),
    "compiler": ("rm /usr/bin/gcc-12", "gcc-12: not found"),
    "make": ("rm /usr/bin/make", "failed with exit status 100"),
    "room": ("mount -t tmpfs -o size=16k none /tmp", "No space left on device"),
    "incomplete headers": ("rm -r /usr/src/linux-headers-*-common/include/net", "cannot build modules: "),
    "disabled": ("touch /etc/dkms/no-autoinstall", "no-autoinstall is there"),
    "headers of another kernel": (
        "r=$(uname -r) && ln -sfn $(readlink /lib/modules/*cloud*/build) /lib/modules/$r/build",
        "expected package linux-headers-6.",
    ),
}


@pytest.mark.parametrize("lack", SERVERS)
def test_a_server_that_cannot_build_is_at_fault(dkms_server: Server, lack: str) -> None:
    harm, words = SERVERS[lack]
    dkms_server.machine.must(harm)
    with pytest.raises(BenchFault) as caught:
        install(dkms_server, NEW)
    assert words in str(caught.value)


@pytest.mark.parametrize("lack", ["compiler", "room"])
def test_a_server_that_cannot_build_is_at_fault_for_a_source_that_does_not_compile(
    dkms_server: Server, lack: str
) -> None:
    dkms_server.machine.must(SERVERS[lack][0])
    with pytest.raises(BenchFault, match="the server cannot build modules"):
        install(dkms_server, version_of("does not compile"))


def test_a_driver_is_built_for_the_other_kernel(dkms_server: Server) -> None:
    running, other = dkms_server.kernels
    install(dkms_server, NEW)
    for _ in range(2):
        assert rebuild(dkms_server) == [f"dut: DKMS has built e1000e for kernel {other}"]
        assert (dkms_server.host.builds.module_for(MODULE, other).vermagic or "").startswith(f"{other} ")
    assert (dkms_server.host.builds.module_for(MODULE, running).vermagic or "").startswith(f"{running} ")
    remove(dkms_server)
    assert left(dkms_server) == []


@pytest.mark.parametrize(
    ("defect", "words"),
    [
        ("is not built by itself", "`dkms install` does not; expected AUTOINSTALL=yes in its dkms.conf"),
        ("does not compile for the cloud", "without a module: e1000e.c:8:16: error: 'undeclared_thing' undeclared"),
    ],
)
def test_a_driver_that_the_other_kernel_does_not_get(dkms_server: Server, defect: str, words: str) -> None:
    install(dkms_server, version_of(defect))
    with pytest.raises(CardFailure) as caught:
        rebuild(dkms_server)
    assert words in str(caught.value)


def test_a_second_kernel_without_headers_is_not_judged(dkms_server: Server) -> None:
    other = dkms_server.kernels[1]
    dkms_server.machine.must(f"rm /lib/modules/{other}/build")
    install(dkms_server, NEW)
    with pytest.raises(NotApplicable, match=rf"{other} \(headers: linux-headers-{other}\); expected one with headers"):
        rebuild(dkms_server)


def test_a_package_that_leaves_what_was_built_is_seen_and_cleaned(dkms_server: Server) -> None:
    running = dkms_server.kernels[0]
    install(dkms_server, version_of("leaves what was built"))
    file = f"/lib/modules/{running}/updates/dkms/e1000e.ko"
    with pytest.raises(CardFailure) as caught:
        remove(dkms_server)
    assert f"has left {file}, /var/lib/dkms/e1000e/9.11; expected nothing of what DKMS built" in str(caught.value)
    assert [each for each in left(dkms_server) if "e1000e" in each] == []
    install(dkms_server, NEW)
    remove(dkms_server)


def test_a_kernel_whose_own_module_is_newer_keeps_it(dkms_server: Server) -> None:
    """Debian's script ends well then, `dkms status` says installed, and the package has no effect."""
    running = dkms_server.kernels[0]
    install(dkms_server, version_of("makes a module like the kernel's"))
    updates, own = (f"/lib/modules/{running}/{folder}" for folder in ("updates/dkms", "kernel/drivers/net"))
    dkms_server.machine.must(f"cp {updates}/e1000e.ko /root/own.ko")
    remove(dkms_server)
    dkms_server.machine.must(f"mkdir -p {own} && cp /root/own.ko {own}/e1000e.ko && depmod {running}")
    with pytest.raises(
        CardFailure, match=r"e1000e\.ko, built for .*\(dkms replaces no module of the kernel that is as "
    ):
        install(dkms_server, NEW)


def test_a_module_that_somebody_changed_is_not_the_packages(dkms_server: Server) -> None:
    install(dkms_server, NEW)
    running = dkms_server.kernels[0]
    file = f"/lib/modules/{running}/updates/dkms/e1000e.ko"
    dkms_server.machine.must(f"echo x >> {file}")
    assert not dkms_server.host.drivers.is_of_package(NAME, file)


def test_a_package_that_brings_nothing_to_build_has_no_source(dkms_server: Server) -> None:
    assert dkms_server.host.builds.sources("dkms") == ()
