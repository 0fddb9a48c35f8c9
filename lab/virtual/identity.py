"""The identity of a bench: keys, certificate, passwords. Made once per bench, kept until its folder is removed."""

from __future__ import annotations

import datetime
import ipaddress
import secrets
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.x509.oid import NameOID

from layout import SSH_PORT, Bench
from wholefile import write_private

SECRETS = (
    "VBENCH_BMC_PASSWORD",
    "VBENCH_BMC_VIEWER_PASSWORD",
    "VBENCH_CONSOLE_PASSWORD",
    "VBENCH_SNMP_READ_COMMUNITY",
    "VBENCH_SNMP_WRITE_COMMUNITY",
    "VBENCH_SNMP_AUTH_PASSWORD",
    "VBENCH_SNMP_PRIV_PASSWORD",
)


class Identity:
    """Reads the files of the bench's folder, makes those that are missing."""

    def __init__(self, bench: Bench) -> None:
        self._bench, self._folder = bench, bench.folder
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.user_key = self._folder / "id_ed25519"
        self.known_hosts = self._folder / "known_hosts"
        self.secrets_file = self._folder / "secrets.env"
        self.certificate, self.certificate_key = self._folder / "bmc-ca.pem", self._folder / "bmc-key.pem"
        self.user_public_key = self._key_pair(self.user_key)
        lines = [f"[{server.address}]:{SSH_PORT} {self.host_key(server.role)[1]}\n" for server in bench.servers]
        self.known_hosts.write_text("".join(lines))
        self.known_hosts.chmod(0o644)
        self._make_secrets()
        if not self.certificate.exists():
            self._make_certificate()

    def _make_secrets(self) -> None:
        """Add those that are missing: a bench may be older than one of them."""
        kept = self.secrets_file.read_text() if self.secrets_file.exists() else ""
        known = [line.partition("=")[0] for line in kept.splitlines()]
        # at most 16 characters: IPMI 1.5 tools and some BMCs take no more; at least 8: SNMPv3 takes no less
        added = "".join(f"{name}={secrets.token_hex(8)}\n" for name in SECRETS if name not in known)
        if added:
            write_private(self.secrets_file, kept + added)

    def secret(self, name: str) -> str:
        """One of the passwords of this bench."""
        return dict(line.split("=", 1) for line in self.secrets_file.read_text().splitlines())[name]

    def host_key(self, role: str) -> tuple[str, str]:
        """SSH host key of a server: private key file's text, public key line."""
        path = self._folder / f"host-key-{role}"
        public = self._key_pair(path)
        return path.read_text(), public

    @staticmethod
    def _key_pair(path: Path) -> str:
        """The public key line of the ed25519 key in ``path``, which is made when it is not there."""
        if not path.exists():
            key = ed25519.Ed25519PrivateKey.generate()
            text = key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption()
            )
            write_private(path, text.decode())
        private = serialization.load_ssh_private_key(path.read_bytes(), None)
        public = private.public_key()
        return public.public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH).decode()

    def _make_certificate(self) -> None:
        """A self-signed certificate for both BMCs' Redfish."""
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"vbench {self._bench.name} BMC")])
        now = datetime.datetime.now(datetime.UTC)
        addresses = [x509.IPAddress(ipaddress.ip_address(server.bmc_address)) for server in self._bench.servers]
        certificate = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(days=1))
            .not_valid_after(now + datetime.timedelta(days=3650))
            .add_extension(x509.SubjectAlternativeName(addresses), critical=False)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .sign(key, hashes.SHA256())
        )
        pem = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        write_private(self.certificate_key, pem.decode())
        self.certificate.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
