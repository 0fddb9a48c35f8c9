"""Packages of rpm, made with ``rpmbuild`` in a root of their own, signed, and in a repository of dnf and zypper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from rpmroot import Machine
from vendor.deb import SOURCE_DATE_EPOCH

SIGNER = "Virtual bench vendor key <vendor@localhost>"
PUBLIC_KEY = "/srv/vendor/RPM-GPG-KEY-vendor"
_WORK = "/var/tmp/rpmbuild"
_GPG = "gpg --batch --quiet --pinentry-mode loopback --passphrase ''"


@dataclass(frozen=True)
class Rpm:
    """One binary package.

    Attributes:
        files: Path from the root, without the leading slash -> content.
        scripts: Section of the spec file (``post``, ``preun``...) -> its text.
        relations: Tag and value, such as ``("Requires", "kmod")``.
        signed: Whether the vendor has signed it.
    """

    package: str
    version: str
    release: str = "1"
    architecture: str = "x86_64"
    files: Mapping[str, bytes] = field(default_factory=dict)
    scripts: Mapping[str, str] = field(default_factory=dict)
    relations: Sequence[tuple[str, str]] = ()
    signed: bool = True

    @property
    def file_name(self) -> str:
        """As rpm names it."""
        return f"{self.package}-{self.version}-{self.release}.{self.architecture}.rpm"

    @property
    def spec(self) -> str:
        """The text of its spec file."""
        head = {"Name": self.package, "Version": self.version, "Release": self.release, "License": "GPL-2.0"}
        tags = [*head.items(), ("Summary", f"{self.package} of the virtual bench's vendor"), *self.relations]
        lines = [f"{name}: {value}" for name, value in tags]
        lines += ["AutoReqProv: no", "%description", self.package]
        for section, text in self.scripts.items():
            lines += [f"%{section}", text.rstrip()]
        lines += ["%files", *(f'"/{name}"' for name in self.files)]
        return "\n".join(lines) + "\n"


def make_key(machine: Machine, signer: str = SIGNER, public: str = PUBLIC_KEY) -> str:
    """Make a key, put its public half into the file ``public``, and return its id (16 hex digits)."""
    machine.must(f"mkdir -p -m 700 /root/.gnupg {_WORK} && {_GPG} --quick-generate-key '{signer}' rsa2048 sign never")
    return _public_key(machine, signer, public)


def secret_key(machine: Machine) -> str:
    """Return the vendor's key, which the machine has."""
    return machine.must(f"{_GPG} --armor --export-secret-keys '{SIGNER}'")


def take_key(machine: Machine, secret: bytes) -> str:
    """Give the machine the vendor's key; return its id."""
    machine.must(f"mkdir -p -m 700 /root/.gnupg {_WORK}")
    machine.write("/root/.gnupg/vendor.key", secret)
    machine.must(f"{_GPG} --import /root/.gnupg/vendor.key")
    return _public_key(machine, SIGNER, PUBLIC_KEY)


def _public_key(machine: Machine, signer: str, public: str) -> str:
    machine.must(f"mkdir -p {PurePosixPath(public).parent} && gpg --armor --export '{signer}' > {public}")
    fields = machine.must(f"gpg --list-keys --with-colons '{signer}'").splitlines()
    return next(line.split(":")[4] for line in fields if line.startswith("pub:")).lower()


def build(rpm: Rpm, machine: Machine, folder: str, signer: str = SIGNER) -> str:
    """Make the package in the machine, signed with a key that it has; return its file in ``folder``.

    Raises:
        RpmRootError: When ``rpmbuild`` or ``rpmsign`` refuses.
    """
    tree = f"{_WORK}/tree"
    machine.must(f"rm -rf {tree} && mkdir -p {tree} {folder}")
    for name, content in rpm.files.items():
        machine.write(f"{tree}/{name}", content)
    machine.write(f"{_WORK}/spec", rpm.spec.encode())
    macros = {"_rpmdir": folder, "_build_name_fmt": "%%{NAME}-%%{VERSION}-%%{RELEASE}.%%{ARCH}.rpm"}
    macros |= {"_buildhost": "localhost", "use_source_date_epoch_as_buildtime": "1", "__os_install_post": "%{nil}"}
    defined = " ".join(f"--define '{name} {value}'" for name, value in macros.items())
    target = f"--target {rpm.architecture} --buildroot {tree}"
    machine.must(f"SOURCE_DATE_EPOCH={SOURCE_DATE_EPOCH} rpmbuild -bb --quiet {target} {defined} {_WORK}/spec")
    file = f"{folder}/{rpm.file_name}"
    if rpm.signed:
        machine.must(f"rpmsign --define '_gpg_name {signer}' --addsign {file}")
    return file


def publish(machine: Machine, folder: str) -> None:
    """Write the lists of a repository in the machine, and sign them: ``repomd.xml.asc``, which zypper asks for."""
    machine.must(f"createrepo_c --quiet {folder}")
    machine.must(
        f"gpg --batch --yes --quiet --armor --local-user '{SIGNER}' --detach-sign {folder}/repodata/repomd.xml"
    )
    machine.must(f"cp {PUBLIC_KEY} {folder}/repodata/repomd.xml.key")
