"""The certificate as a PDF file for people who have nothing of ours: A4, typeset by typst, nothing from a network."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from niclab.core.verdict import BenchFault
from niclab.report import LOOK
from niclab.report.pages.blocks import Content, Part, Pictures
from niclab.report.pages.chart_parts import printed
from niclab.report.pages.content import content_of

TEMPLATE = "certificate.typ"


def certificate_paper(
    certificate: Mapping[str, Any], charts: Mapping[str, str] | None = None, look: Path = LOOK
) -> bytes:
    """The PDF file for the content of ``certificate.json``: the same bytes for the same content.

    Args:
        certificate: Content of ``certificate.json``.
        charts: The charts that it names -> their SVG.
        look: Folder with ``certificate.typ`` and ``logo.svg``.

    Raises:
        BenchFault: The package typst is not installed, or cannot typeset it.
    """
    return typeset(content_of(certificate, charts), certificate["issued"], look)


def typeset(content: Content, issued: str, look: Path = LOOK) -> bytes:
    """Return a document as PDF.

    Args:
        content: What is said.
        issued: Time of the document, ISO 8601.
        look: See :func:`certificate_paper`.

    Raises:
        BenchFault: See :func:`certificate_paper`.
    """
    try:
        import typst
    except ImportError as error:
        raise BenchFault("certificate.pdf: package typst is not installed; expected make setup") from error
    try:
        made = typst.compile(
            look / TEMPLATE,
            root=look,
            ignore_system_fonts=True,
            sys_inputs=inputs_of(content),
            timestamp=int(datetime.fromisoformat(issued).timestamp()),
        )
    except (typst.TypstError, OSError, ValueError) as error:
        raise BenchFault(f"{look / TEMPLATE}: cannot be typeset: {error}") from error
    if not isinstance(made, bytes):
        raise BenchFault(f"{look / TEMPLATE}: made {type(made).__name__}; expected one PDF file")
    return made


def inputs_of(content: Content) -> dict[str, str]:
    """Return what the template reads.

    Args:
        content: What is said.
    """
    plain = replace(content, parts=tuple(map(_printed, content.parts)))
    return {"content": json.dumps(asdict(plain), ensure_ascii=False)}


def _printed(part: Part) -> Part:
    blocks = (
        replace(block, svgs=tuple(map(printed, block.svgs))) if isinstance(block, Pictures) else block
        for block in part.blocks
    )
    return replace(part, blocks=tuple(blocks))
