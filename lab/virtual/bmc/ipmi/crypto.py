"""The cipher suites and the keys of a session (IPMI 13.28 to 13.33)."""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from bmc.ipmi.rmcp import MalformedError

AES_CBC_128 = 1
"""The one confidentiality algorithm."""
KEY_CONSTANT_BYTES = 20
"""Length of the constants K1 and K2 are made from (IPMI 13.32), for SHA-256 too: ipmitool and OpenBMC
(phosphor-net-ipmid, rmcp.hpp) do so. python-ipmi 0.6.1 takes 32 bytes for SHA-256 and fails with both."""
_BLOCK_BYTES = 16


@dataclass(frozen=True)
class Suite:
    """The algorithms of a cipher suite (IPMI table 22-20); the numbers are those on the wire.

    Attributes:
        hash: Of all HMACs of the suite.
        tag_bytes: Length of integrity tags, the leading bytes of the HMAC.
    """

    number: int
    authentication: int
    integrity: int
    hash: Callable[[], Any]
    tag_bytes: int


class CipherSuite(Enum):
    """The two suites offered."""

    SHA1 = Suite(3, 1, 1, hashlib.sha1, 12)
    SHA256 = Suite(17, 3, 4, hashlib.sha256, 16)

    def hmac(self, key: bytes, message: bytes) -> bytes:
        """The whole HMAC."""
        return hmac.new(key, message, self.value.hash).digest()


class Keys:
    """The keys with which a session signs and encrypts, made from the session integrity key (IPMI 13.32)."""

    def __init__(self, suite: CipherSuite, session_integrity_key: bytes) -> None:
        self.suite = suite
        self._k1 = suite.hmac(session_integrity_key, b"\x01" * KEY_CONSTANT_BYTES)
        self._k2 = suite.hmac(session_integrity_key, b"\x02" * KEY_CONSTANT_BYTES)[:_BLOCK_BYTES]

    def tag(self, message: bytes) -> bytes:
        """The integrity tag of a message."""
        return self.suite.hmac(self._k1, message)[: self.suite.value.tag_bytes]

    def is_genuine(self, message: bytes, tag: bytes) -> bool:
        """Does the tag belong to the message?"""
        return hmac.compare_digest(self.tag(message), tag)

    def encrypt(self, plain: bytes) -> bytes:
        """AES-CBC with the padding of IPMI 13.29: 1, 2, 3, ..., number of padding bytes. Starts with the vector."""
        padding = -(len(plain) + 1) % _BLOCK_BYTES
        plain += bytes(range(1, padding + 1)) + bytes([padding])
        vector = os.urandom(_BLOCK_BYTES)
        encryptor = Cipher(algorithms.AES(self._k2), modes.CBC(vector)).encryptor()
        return vector + encryptor.update(plain) + encryptor.finalize()

    def decrypt(self, secret: bytes) -> bytes:
        """Undo :meth:`encrypt`.

        Raises:
            MalformedError: Wrong length or padding.
        """
        if len(secret) < 2 * _BLOCK_BYTES or len(secret) % _BLOCK_BYTES:
            raise MalformedError(f"{len(secret)} encrypted bytes")
        decryptor = Cipher(algorithms.AES(self._k2), modes.CBC(secret[:_BLOCK_BYTES])).decryptor()
        plain = decryptor.update(secret[_BLOCK_BYTES:]) + decryptor.finalize()
        padding = plain[-1]
        if padding >= _BLOCK_BYTES or plain[-1 - padding : -1] != bytes(range(1, padding + 1)):
            raise MalformedError("wrong padding")
        return plain[: -1 - padding]
