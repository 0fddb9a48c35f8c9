"""A small HTTP/1.1 server over TLS: one handler, JSON in and out, bounded in size and time."""

from __future__ import annotations

import asyncio
import json
import logging
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

from bmc.config import ConfigError

log = logging.getLogger(__name__)

MAX_HEAD_BYTES = 16 * 1024
MAX_BODY_BYTES = 64 * 1024
IDLE_S = 30.0
"""A connection that sends no complete request for so long is closed."""


@dataclass(frozen=True)
class HttpRequest:
    """A request. ``path`` has no query and no slash at its end; header names are in lower case."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True)
class HttpResponse:
    """An answer; ``content`` is sent as JSON, ``None`` as an empty body."""

    status: HTTPStatus
    content: dict[str, Any] | None = None
    headers: dict[str, str] = field(default_factory=dict)

    def pack(self, keep_alive: bool) -> bytes:
        """The answer as bytes."""
        body = b"" if self.content is None else json.dumps(self.content).encode()
        headers = {
            "OData-Version": "4.0",
            "Cache-Control": "no-store",
            "Connection": "keep-alive" if keep_alive else "close",
            **self.headers,
        }
        if self.content is not None:
            headers["Content-Type"] = "application/json; charset=utf-8"
        if self.status is not HTTPStatus.NO_CONTENT:
            headers["Content-Length"] = str(len(body))
        lines = [f"HTTP/1.1 {self.status.value} {self.status.phrase}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


class BadRequestError(Exception):
    """Not HTTP as this server speaks it; ends the connection with this status."""

    def __init__(self, status: HTTPStatus, why: str) -> None:
        super().__init__(why)
        self.status = status


class SilenceError(Exception):
    """Raised by a handler: the connection ends without an answer."""


Handler = Callable[[HttpRequest], Awaitable[HttpResponse]]


def tls_context(certificate: Path, key: Path) -> ssl.SSLContext:
    """The server side of TLS 1.2 and later.

    Raises:
        ConfigError: When the files are no certificate and its key.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError) as error:
        raise ConfigError(
            f"tls_cert {certificate}, tls_key {key}: no certificate and its key in PEM: {error}"
        ) from error
    return context


async def serve(handler: Handler, address: IPv4Address, port: int, context: ssl.SSLContext) -> asyncio.Server:
    """Open the port and answer from now on."""

    async def on_connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await _serve_one(reader, writer, handler):
                pass
        except (OSError, EOFError, TimeoutError, SilenceError) as error:
            log.debug("HTTP connection ended: %r", error)
        except asyncio.CancelledError:
            log.debug("HTTP connection ended: the BMC stops")  # asyncio 3.11 reports a cancelled handler as an error
        finally:
            writer.close()

    return await asyncio.start_server(
        on_connection, str(address), port, ssl=context, limit=MAX_HEAD_BYTES, ssl_handshake_timeout=IDLE_S
    )


async def _serve_one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, handler: Handler) -> bool:
    """Answer one request.

    Returns:
        Whether the connection goes on.
    """
    try:
        async with asyncio.timeout(IDLE_S):
            request = await _read_request(reader)
    except BadRequestError as error:
        log.info("bad HTTP request: %s", error)
        writer.write(HttpResponse(error.status).pack(keep_alive=False))
        await writer.drain()
        return False
    keep_alive = request.headers.get("connection", "").lower() != "close"
    try:
        response = await handler(request)
    except SilenceError:
        raise
    except Exception:
        log.exception("%s %s broke the handler", request.method, request.path)
        response = HttpResponse(HTTPStatus.INTERNAL_SERVER_ERROR)
    writer.write(response.pack(keep_alive))
    await writer.drain()
    return keep_alive


async def _read_request(reader: asyncio.StreamReader) -> HttpRequest:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except asyncio.LimitOverrunError as error:
        raise BadRequestError(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "head too long") from error
    request_line, *lines = head.removesuffix("\r\n\r\n").split("\r\n")
    words = request_line.split(" ")
    if len(words) != 3 or not words[1].startswith("/") or not words[2].startswith("HTTP/1."):
        raise BadRequestError(HTTPStatus.BAD_REQUEST, f"request line {request_line[:80]!r}")
    headers: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or not name or name != name.strip():
            raise BadRequestError(HTTPStatus.BAD_REQUEST, f"header {line[:80]!r}")
        headers[name.lower()] = value.strip()
    if "transfer-encoding" in headers:
        raise BadRequestError(HTTPStatus.NOT_IMPLEMENTED, "transfer encodings are not spoken")
    length = headers.get("content-length", "0")
    if not (length.isascii() and length.isdigit()):
        raise BadRequestError(HTTPStatus.BAD_REQUEST, f"content length {length[:20]!r}")
    if len(length) > 9 or int(length) > MAX_BODY_BYTES:
        raise BadRequestError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"{length[:20]} bytes of body")
    body = await reader.readexactly(int(length))
    path = words[1].partition("?")[0].rstrip("/") or "/"
    return HttpRequest(words[0], path, headers, body)
