"""Keys, certificate and passwords of a bench."""

from __future__ import annotations

import os
import shutil
import ssl
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from bench_fakes import bench_in, short_folder
from cryptography import x509

import layout
from identity import SECRETS, Identity

PRIVATE = ("id_ed25519", "host-key-dut", "host-key-peer", "secrets.env", "bmc-key.pem")


@pytest.fixture
def folder() -> Iterator[Path]:
    with short_folder() as folder:
        yield folder


@pytest.fixture
def bench(folder: Path) -> layout.Bench:
    return bench_in(folder)


def _contents(bench: layout.Bench) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in bench.folder.iterdir() if path.is_file()}


def test_private_files_are_for_their_owner_alone_whatever_the_umask(bench: layout.Bench) -> None:
    umask = os.umask(0)
    try:
        Identity(bench)
    finally:
        os.umask(umask)
    modes = {name: stat.S_IMODE((bench.folder / name).stat().st_mode) for name in PRIVATE}
    assert modes == dict.fromkeys(PRIVATE, 0o600)


def test_a_folder_it_makes_is_closed_to_others(folder: Path) -> None:
    bench = bench_in(folder)
    shutil.rmtree(bench.folder)
    Identity(bench)
    assert stat.S_IMODE(bench.folder.stat().st_mode) == 0o700


def test_a_second_call_changes_nothing(bench: layout.Bench) -> None:
    first = Identity(bench)
    before = _contents(bench)
    second = Identity(bench)
    assert _contents(bench) == before
    assert second.user_public_key == first.user_public_key
    assert [second.secret(name) for name in SECRETS] == [first.secret(name) for name in SECRETS]
    assert second.host_key("dut") == first.host_key("dut")


def test_a_lost_file_is_made_anew_and_the_others_stay(bench: layout.Bench) -> None:
    Identity(bench)
    before = _contents(bench)
    (bench.folder / "secrets.env").unlink()
    Identity(bench)
    changed = {name for name, content in _contents(bench).items() if content != before[name]}
    assert changed == {"secrets.env"}


def test_a_secret_that_an_older_bench_does_not_have_is_added_and_the_others_stay(bench: layout.Bench) -> None:
    first = Identity(bench)
    lines = first.secrets_file.read_text().splitlines(keepends=True)
    kept = {name: first.secret(name) for name in SECRETS if name != SECRETS[1]}
    first.secrets_file.write_text("".join(line for line in lines if not line.startswith(SECRETS[1] + "=")))
    second = Identity(bench)
    assert {name: second.secret(name) for name in kept} == kept
    assert len(second.secret(SECRETS[1])) == 16
    assert stat.S_IMODE(second.secrets_file.stat().st_mode) == 0o600


def test_what_an_interrupted_start_left_does_no_harm(bench: layout.Bench) -> None:
    (bench.folder / "id_ed25519.new").write_text("half a k")
    identity = Identity(bench)
    assert identity.user_key.read_text().endswith("-----END OPENSSH PRIVATE KEY-----\n")
    assert not list(bench.folder.glob("*.new"))


def test_nothing_is_shared_by_two_benches_or_two_servers(folder: Path) -> None:
    one, two = Identity(bench_in(folder, "one")), Identity(bench_in(folder, "two"))
    keys = [one.user_public_key, two.user_public_key]
    keys += [identity.host_key(role)[1] for identity in (one, two) for role in layout.ROLES]
    secrets = [identity.secret(name) for identity in (one, two) for name in SECRETS]
    assert len(set(keys)) == 6
    assert len(set(secrets)) == 2 * len(SECRETS)


def test_passwords_fit_an_ipmi_user(bench: layout.Bench) -> None:
    identity = Identity(bench)
    for name in SECRETS:
        assert 12 <= len(identity.secret(name)) <= 16  # IPMI 1.5: 16 bytes


@pytest.mark.skipif(not shutil.which("ssh-keygen"), reason="ssh-keygen is not installed (Debian: openssh-client)")
def test_openssh_reads_the_keys_and_finds_the_servers(bench: layout.Bench) -> None:
    identity = Identity(bench)
    shown = subprocess.run(["ssh-keygen", "-y", "-f", identity.user_key], capture_output=True, text=True, check=True)
    assert shown.stdout.split()[:2] == identity.user_public_key.split()[:2]
    for server in bench.servers:
        command = ["ssh-keygen", "-F", f"[{server.address}]:{layout.SSH_PORT}", "-f", str(identity.known_hosts)]
        found = subprocess.run(command, capture_output=True, text=True, check=True)
        assert identity.host_key(server.role)[1] in found.stdout


def test_the_certificate_names_both_bmcs_and_belongs_to_its_key(bench: layout.Bench) -> None:
    identity = Identity(bench)
    certificate = x509.load_pem_x509_certificate(identity.certificate.read_bytes())
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    addresses = [str(address) for address in names.get_values_for_type(x509.IPAddress)]
    assert addresses == [server.bmc_address for server in bench.servers]
    ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(identity.certificate, identity.certificate_key)
