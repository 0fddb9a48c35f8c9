"""A vendor's package of a driver's source: the real dkms of the dut builds it, does not, or leaves what it has built.

Servers of the bench have no compiler. The package's source is a module that its MAKE marks for the kernel it is built
for, as vendors do whose source is part object file; the headers and the second kernel are folders that dkms looks for.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from control_bench import Bench, only
from test_vendor_controls import SHEET, UP, emulex

__all__ = ["emulex"]
pytestmark = [pytest.mark.bench, pytest.mark.slow]

PACKAGE, VERSION = "be2net-source-dkms", "12.0.0.0"
INSTALLED, REMOVED = "The Required Driver Is Installed And Runs On The Dut", "A Removed Driver Leaves The Kernel's Own"
BUILT = "A Driver Of DKMS Is Built For Every Installed Kernel"
APT, LIST = "/srv/control", "/etc/apt/sources.list.d/control.list"
OTHER = 'r=$(uname -r); k=$(echo $r | sed "s/^\\([0-9]\\)[.]/7./")'
"""A kernel that is not there; its name is as long as that of the running one."""
HEADERS = (
    f"{OTHER}; mkdir -p /lib/modules/$k/kernel; for x in $r $k; do d=/lib/modules/$x/build/include/generated;"
    ' mkdir -p $d; echo "#define UTS_RELEASE \\"$x\\"" > $d/utsrelease.h; done'
)
CLEAN = f"""{OTHER}
dpkg --purge {PACKAGE} dkms no-compiler > /dev/null 2>&1
rm -rf /lib/modules/$k /lib/modules/$r/build /lib/modules/$r/updates /var/lib/dkms {APT} {LIST}
depmod; modprobe -r be2net; modprobe be2net; apt-get -q update > /dev/null; sync"""
PACKED = f"""set -e
s={APT}/tree/usr/src/be2net-{VERSION}
mkdir -p $s {APT}/tree/DEBIAN {APT}/prebuilt
dpkg-deb -x /srv/vendor/apt/be2net-modules_{VERSION}_amd64.deb {APT}/prebuilt
cp {APT}/prebuilt/lib/modules/$(uname -r)/updates/be2net.ko $s/be2net.object
cat > $s/dkms.conf << END
PACKAGE_NAME="be2net"
PACKAGE_VERSION="{VERSION}"
BUILT_MODULE_NAME[0]="be2net"
DEST_MODULE_LOCATION[0]="/updates/dkms"
STRIP[0]="no"
CLEAN="true"
MAKE[0]="LC_ALL=C sed s/$(uname -r)/\\$kernelver/g be2net.object > be2net.ko"
AUTOINSTALL="@AUTOINSTALL@"
END
cd {APT}/tree/DEBIAN
printf 'Package: {PACKAGE}\\nVersion: {VERSION}\\nArchitecture: amd64\\nMaintainer: x <x@localhost>\\n' > control
printf 'Depends: dkms\\nDescription: a driver that DKMS builds\\n' >> control
printf '#!/bin/sh\\n[ "$1" != configure ] || /usr/lib/dkms/common.postinst be2net {VERSION} /x "" $2\\n' > postinst
printf '#!/bin/sh\\n@REMOVE@\\n' > prerm
chmod 755 postinst prerm
cd {APT}
dpkg-deb --root-owner-group -b tree package.deb > /dev/null
dpkg-deb -f package.deb > Packages
sum=$(sha256sum package.deb)
printf 'Filename: ./package.deb\\nSize: %s\\nSHA256: %s\\n' $(stat -c %s package.deb) ${{sum%% *}} >> Packages
echo 'deb [trusted=yes] file:{APT} ./' > {LIST}
apt-get -q update > /dev/null
sync"""


@contextmanager
def packed(
    bench: Bench, folder: Path, autoinstall: str = "yes", remove: str = "dkms remove -m be2net -v 12.0.0.0 --all"
) -> Iterator[Path]:
    """The package is in a repository of the dut; gives the card's sheet that names it."""
    script = PACKED.replace("@AUTOINSTALL@", autoinstall).replace("@REMOVE@", remove)
    sheet = folder / SHEET.name
    sheet.write_text(SHEET.read_text().replace("name: be2net-modules", f"name: {PACKAGE}"))
    try:
        for text in (CLEAN, script):
            bench.ssh("dut", f"echo {base64.b64encode(text.encode()).decode()} | base64 -d | sh")
        yield sheet
    finally:
        bench.ssh("dut", f"echo {base64.b64encode(CLEAN.encode()).decode()} | base64 -d | sh")


def test_a_driver_that_dkms_builds_runs_for_both_kernels_and_leaves_nothing(bench: Bench, tmp_path: Path) -> None:
    tests = {REMOVED, BUILT}  # both install it and run it; each takes the emulated server three minutes
    with packed(bench, tmp_path) as sheet:
        bench.ssh("dut", HEADERS)
        run = bench.run(*only(*tests), card=sheet)
        left = bench.ssh("dut", "ls -d /var/lib/dkms/be2net /lib/modules/*/updates 2> /dev/null || :")
    run.should_show(red=set(), green=tests)
    assert left.strip() == ""


def test_a_server_without_headers_is_the_benchs(bench: Bench, tmp_path: Path) -> None:
    """Debian's script skips the build then, and ends well."""
    with packed(bench, tmp_path) as sheet:
        run = bench.run(*only(INSTALLED, UP), card=sheet)
    run.should_show(red={INSTALLED}, green={UP})
    assert run.red[INSTALLED].startswith(f"BenchFault: dut: package {PACKAGE}: DKMS has no module of be2net-{VERSION} ")
    assert "it has no headers; expected package linux-headers-6." in run.red[INSTALLED]


def test_a_package_that_leaves_its_module_is_seen_and_cleaned(bench: Bench, tmp_path: Path) -> None:
    with packed(bench, tmp_path, remove="exit 0") as sheet:
        bench.ssh("dut", HEADERS)
        run = bench.run(*only(REMOVED, UP), card=sheet)
        left = bench.ssh("dut", "ls -d /var/lib/dkms/be2net /lib/modules/*/updates/dkms/* 2> /dev/null || :")
    run.should_show(red={REMOVED}, green={UP})
    assert run.red[REMOVED].startswith(f"CardFailure: dut: package {PACKAGE} has left /lib/modules/6.")
    assert left.strip() == ""


def test_a_package_that_is_not_built_by_itself_is_seen(bench: Bench, tmp_path: Path) -> None:
    with packed(bench, tmp_path, autoinstall="") as sheet:
        bench.ssh("dut", HEADERS)
        run = bench.run(*only(BUILT, INSTALLED), card=sheet)
    run.should_show(red={BUILT}, green={INSTALLED})
    assert run.red[BUILT].startswith(f"CardFailure: dut: package {PACKAGE}: `dkms autoinstall -k 7.")
    assert "expected AUTOINSTALL=yes in its dkms.conf" in run.red[BUILT]
