"""A Redfish service on loopback, with a certificate of its own and faults on request."""

from __future__ import annotations

import base64
import copy
import ipaddress
import json
import ssl
import threading
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

USER, PASSWORD = "admin", "s3cret-of-the-bmc"
SYSTEM, CHASSIS, LOG = "/redfish/v1/Systems/1", "/redfish/v1/Chassis/1", "/redfish/v1/Managers/1/LogServices/SEL"
ENTRIES, RESET, CLEAR = f"{LOG}/Entries", f"{SYSTEM}/Actions/ComputerSystem.Reset", f"{LOG}/Actions/LogService.ClearLog"
Json = dict[str, Any]


def certificate(folder: Path, name: str, address: str = "127.0.0.1") -> tuple[Path, Path]:
    """A self-signed certificate and its key, as files."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(address))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    cert_file, key_file = folder / f"{name}.pem", folder / f"{name}.key"
    cert_file.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    key_file.write_bytes(key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain))
    return cert_file, key_file


def link(path: str) -> Json:
    return {"@odata.id": path}


def members(*paths: str) -> Json:
    return {"Members": [link(path) for path in paths]}


def error(words: str) -> Json:
    """An error body whose words are in the extended info."""
    details = [{"MessageId": "Base.1.8.X", "Message": words}]
    return {
        "error": {"code": "Base.1.8.GeneralError", "message": "See ExtendedInfo.", "@Message.ExtendedInfo": details}
    }


def resources() -> dict[str, Json]:
    """A service with one system; its event log is with the manager, in two pages, as some vendors have it."""
    actions = {"#ComputerSystem.Reset": {"target": RESET}}
    actions["#ComputerSystem.Reset"]["ResetType@Redfish.AllowableValues"] = ["ForceOn", "ForceOff", "ForceRestart"]
    boot = {"BootSourceOverrideEnabled": "Disabled", "BootSourceOverrideTarget": "None"}
    first = {"Id": "1", "Message": "Power off", "Created": "2026-11-21T10:00:00Z", "SensorNumber": 240}
    second = {"Id": "2", "Message": "Hot", "Created": "2026-11-21T11:00:00+01:00", "SensorType": "Temperature"}
    return {
        "/redfish/v1/": {"Systems": link("/redfish/v1/Systems")},
        "/redfish/v1/Systems": members(SYSTEM),
        SYSTEM: {
            **link(SYSTEM),
            "PowerState": "Off",
            "SerialNumber": "S123",
            "Manufacturer": "Maker",
            "Boot": boot,
            "Actions": actions,
            "LogServices": link(f"{SYSTEM}/LogServices"),
            "Links": {"Chassis": [link(CHASSIS)], "ManagedBy": [link("/redfish/v1/Managers/1")]},
        },
        f"{SYSTEM}/LogServices": members(f"{SYSTEM}/LogServices/Audit"),
        f"{SYSTEM}/LogServices/Audit": {"Id": "Audit"},
        "/redfish/v1/Managers/1": {"LogServices": link("/redfish/v1/Managers/1/LogServices")},
        "/redfish/v1/Managers/1/LogServices": members(LOG),
        LOG: {"Id": "Sel", "Entries": link(ENTRIES), "Actions": {"#LogService.ClearLog": {"target": CLEAR}}},
        ENTRIES: {"Members": [first | {"EntryCode": "Assert"}], "Members@odata.nextLink": f"{ENTRIES}?page=2"},
        f"{ENTRIES}?page=2": members(f"{ENTRIES}/2"),
        f"{ENTRIES}/2": second,
        CHASSIS: {"Model": "Box", "Thermal": link(f"{CHASSIS}/Thermal"), "Power": link(f"{CHASSIS}/Power")},
        f"{CHASSIS}/Thermal": {
            "Temperatures": [
                {"Name": "CPU Temp", "ReadingCelsius": 40, "Status": {"State": "Enabled", "Health": "OK"}},
                {"Name": "NIC Temp", "ReadingCelsius": None, "Status": {"State": "UnavailableOffline"}},
            ],
            "Fans": [{"FanName": "Fan 1", "Reading": 30, "ReadingUnits": "Percent", "Status": {"Health": "Warning"}}],
        },
        f"{CHASSIS}/Power": {
            "PowerControl": [{"Name": "Sys Power", "PowerConsumedWatts": 120.5}],
            "Voltages": [{"Name": "12V", "ReadingVolts": 9.1, "Status": {"Health": "Critical"}}],
        },
    }


class FakeService:
    """The service. ``answers`` overrides (method, path): status and body; ``first_answers`` those before: status, body
    and headers, each once. ``floods`` (a path) has a body without end. ``mute`` and ``drip`` never finish;
    ``hangs_up_on`` (a path) ends one connection unanswered; ``stuck`` accepts and does nothing; ``redirect`` sends
    the methods of ``redirected`` elsewhere. ``password`` is the user's."""

    def __init__(self, folder: Path) -> None:
        self.ca_file, key_file = certificate(folder, "bmc")
        self.resources = resources()
        self.answers: dict[tuple[str, str], tuple[int, Json | str]] = {}
        self.first_answers: dict[tuple[str, str], list[tuple[int, Json | str | bytes, dict[str, str]]]] = {}
        self.floods: str | None = None
        self.flood_status = 200
        self.requests: list[tuple[str, str, Json | None, str | None]] = []
        self.connections = 0
        self.mute = self.drip = self.stuck = False
        self.hangs_up_on: str | None = None
        self.redirect: str | None = None
        self.redirected = ("POST", "PATCH")
        self.password = PASSWORD
        self.released = threading.Event()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.ca_file, key_file)
        service = self

        class Handler(_Handler):
            def setup(self) -> None:
                self.service = service
                service.connections += 1
                super().setup()

        self._server = _Server(("127.0.0.1", 0), Handler)
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)
        self.url = f"https://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def stop(self) -> None:
        self.released.set()
        self._server.shutdown()
        self._server.server_close()

    def carry_out(self, method: str, path: str, body: Json | None) -> tuple[int, Json | str]:
        if (method, path) in self.answers:
            return self.answers[method, path]
        if method == "GET":
            return (200, self.resources[path]) if path in self.resources else (404, error(f"{path} was not found."))
        if self.stuck or body is None:
            return 204, ""
        if path == RESET:
            self.resources[SYSTEM]["PowerState"] = "On" if body["ResetType"] in ("On", "ForceOn") else "Off"
        if path == CLEAR:
            self.resources[ENTRIES] = {"Members": []}
        if method == "PATCH":
            self.resources[path] = copy.deepcopy(self.resources[path]) | body
        return 204, ""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """Clients that refuse the certificate and faults that tests make are no news."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 16  # head and body in one piece: else Nagle's algorithm adds 40 ms to each answer
    service: FakeService

    def log_message(self, *_: object) -> None:
        """No words on stderr."""

    def _serve(self) -> None:
        service = self.service
        raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = json.loads(raw) if raw else None
        service.requests.append((self.command, self.path, body, self.headers.get("If-Match")))
        if service.mute:
            service.released.wait(20)
            self.close_connection = True
            return
        if service.hangs_up_on == self.path:
            service.hangs_up_on = None
            self.close_connection = True
            return
        if service.floods == self.path:
            self._flood()
            return
        if planned := service.first_answers.get((self.command, self.path)):
            self._answer(*planned.pop(0))
            return
        if service.redirect and self.command in service.redirected:
            self._answer(307, "", {"Location": service.redirect})
            return
        credentials = base64.b64encode(f"{USER}:{service.password}".encode()).decode()
        if self.headers.get("Authorization") != f"Basic {credentials}":
            self._answer(401, error("There is no valid session established."))
            return
        status, content = service.carry_out(self.command, self.path, body)
        self._answer(status, content, {"ETag": 'W/"7"'} if self.path == SYSTEM else {})

    do_GET = do_POST = do_PATCH = _serve  # the names that http.server calls

    def _flood(self) -> None:
        """A chunked body that never ends, 64 KiB every 2 ms at most."""
        self.send_response(self.service.flood_status)
        self.send_header("Location", "/elsewhere")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        piece = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
        while not self.service.released.wait(0.002):
            self.wfile.write(piece)

    def _answer(self, status: int, content: Json | str | bytes, headers: dict[str, str] | None = None) -> None:
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        data = content.encode() if isinstance(content, str) else data
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        if "Content-Length" not in (headers or {}):
            self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if not self.service.drip:
            self.wfile.write(data)
            return
        for byte in data:
            if self.service.released.wait(0.05):
                return
            self.wfile.write(bytes([byte]))
            self.wfile.flush()
