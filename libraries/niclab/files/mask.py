"""Secret values are replaced before a text leaves the lab, in every form in which programs write them."""

from __future__ import annotations

import base64
import html
import json
import shlex
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar
from urllib.parse import quote, quote_plus

from niclab.core.verdict import BenchFault
from niclab.files.secrets import SHORTEST_SECRET

MASKED = "********"

_Content = TypeVar("_Content", str, bytes)


class Mask:
    """Replaces secret values by ``********``, also where they are encoded.

    Known forms: JSON, HTML and XML, URLs, ``repr`` of text and bytes, shell quotes, most of these quoted once more, and
    base64, also where the secret is only a part of what was encoded (``user:password`` of HTTP Basic).

    >>> Mask(["hunter2"])("user admin, password hunter2")
    'user admin, password ********'

    Args:
        secrets: The values to mask.

    Raises:
        BenchFault: A secret is empty or shorter than 6 characters: it would be found in innocent text.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        forms: set[str] = set()
        for secret in secrets:
            if not secret.strip():
                raise BenchFault("secret to be masked: is empty; expected the value of the secret")
            if len(secret) < SHORTEST_SECRET:
                raise BenchFault(
                    f"secret to be masked: {len(secret)} characters; expected at least {SHORTEST_SECRET}: "
                    f"a shorter one is found in innocent text"
                )
            forms.update(_forms(secret))
        # The longest first: a secret may contain another one.
        self._forms = sorted(forms, key=lambda form: (-len(form), form))
        self._encoded = sorted(
            {form.encode(coding) for form in forms for coding in ("utf-8", "latin-1") if _fits(form, coding)},
            key=lambda form: (-len(form), form),
        )
        self._beginnings = {form[:size] for form in self._encoded for size in range(1, len(form))}
        self._longest = max(map(len, self._encoded), default=1)

    def begins(self, content: bytes) -> bool:
        """Return whether this may be the beginning of a secret, and nothing else.

        Args:
            content: The bytes.
        """
        return content in self._beginnings

    def heads(self, content: bytes) -> bool:
        """Return whether bytes begin with a whole secret.

        Args:
            content: The bytes.
        """
        return content.startswith(tuple(self._encoded))

    def split(self, content: bytes) -> tuple[bytes, bytes]:
        """Mask what came of a stream, and tell what of it may be the beginning of a secret.

        Args:
            content: What came; begins with what was held back before.

        Returns:
            The masked part that may be written, and the end that has to be held back until more has come.
        """
        size = next(
            (n for n in range(min(len(content), self._longest - 1), 0, -1) if content[-n:] in self._beginnings), 0
        )
        head, tail = content[: len(content) - size], content[len(content) - size :]
        whole, masked = self(content), self(head)
        return (masked, tail) if whole == masked + tail else (whole, b"")  # a secret lies across

    def __call__(self, content: _Content) -> _Content:
        """Replace the secrets in ``content``.

        Args:
            content: Text, or bytes in UTF-8 or Latin-1.

        Returns:
            ``content`` without the secrets.
        """
        if isinstance(content, bytes):
            for encoded in self._encoded:
                content = content.replace(encoded, MASKED.encode())
            return content
        for form in self._forms:
            content = content.replace(form, MASKED)
        return content


class MessageMask:
    """A mask for messages of a run, whose secrets become known one by one.

    A listener calls it with the text of each message, at the moment the message is logged.

    Args:
        secrets: Returns the secrets that are known now, for example ``lambda: run.secrets.handed_out``.
    """

    def __init__(self, secrets: Callable[[], Iterable[str]]) -> None:
        self._secrets = secrets
        self._known: tuple[str, ...] = ()
        self._mask = Mask()

    def __call__(self, message: str) -> str:
        """Replace the secrets that are known now in ``message``.

        Args:
            message: Text of a log message, a failure or an argument.

        Returns:
            ``message`` without the secrets.

        Raises:
            BenchFault: A secret is shorter than 6 characters.
        """
        return self.now()(message)

    def now(self) -> Mask:
        """Return the mask of the secrets that are known now.

        Raises:
            BenchFault: A secret is shorter than 6 characters.
        """
        known = tuple(self._secrets())
        if known != self._known:
            self._mask, self._known = Mask(known), known
        return self._mask


def _forms(secret: str) -> Iterator[str]:
    """The forms of ``secret``; a form that is the same as another one does no harm."""
    data = secret.encode("utf-8", "surrogateescape")
    once = {secret, *_escaped(secret), *_escaped_bytes(data), *_in_markup(secret)}
    once |= {quote(data, safe=""), quote(data), quote_plus(data), shlex.quote(secret).strip("'")}
    yield from once
    for form in once:  # quoted once more, as in the JSON or the repr of what a program printed
        yield from _escaped(form)
        yield from _in_markup(form)
    yield from _base64_forms(data)


def _escaped(text: str) -> Iterator[str]:
    """Yield the forms of ``text`` in JSON and ``repr``; which quotes ``repr`` escapes depends on the text around."""
    yield json.dumps(text)[1:-1]
    yield json.dumps(text, ensure_ascii=False)[1:-1]
    for write in (repr, ascii):
        yield write(text)[1:-1]
        yield write(f"'\"{text}")[1:-1].removeprefix("\\'\"")


def _escaped_bytes(data: bytes) -> Iterator[str]:
    yield repr(data)[2:-1]
    yield repr(b"'\"" + data)[2:-1].removeprefix("\\'\"")


def _in_markup(text: str) -> Iterator[str]:
    yield from (html.escape(text), html.escape(text, quote=False), html.escape(text).replace("&#x27;", "&#39;"))


def _base64_forms(data: bytes) -> Iterator[str]:
    """Yield the forms of ``data`` in base64: alone, and within longer data the characters that depend on it only."""
    for before in range(3):
        text = base64.b64encode(bytes(before) + data).decode()
        first = -(-before * 8 // 6)  # the first character without a bit of what is before
        inside = text[first : (before + len(data)) * 8 // 6]  # the last one has bits of what follows
        for form in (inside, text.rstrip("="), text) if before == 0 else (inside,):
            yield form
            yield form.translate(str.maketrans("+/", "-_"))  # for URLs


def _fits(form: str, coding: str) -> bool:
    try:
        form.encode(coding)
    except UnicodeEncodeError:
        return False
    return True
