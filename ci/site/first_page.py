"""Draw the first page of a certificate with a number at each part, for docs/certificate.md.

Usage: ``first_page.py RUN``; writes ``docs/images/first-page.png``.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import typst

HERE = Path(__file__).resolve().parent
PICTURE = HERE.parents[1] / "docs" / "images" / "first-page.png"
DOTS_PER_INCH = 96.0

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for source in (Path(sys.argv[1]) / "certificate.pdf", HERE / "first_page.typ"):
            (root / source.name).write_bytes(source.read_bytes())
        typst.compile(
            root / "first_page.typ",
            output=PICTURE,
            root=root,
            format="png",
            ppi=DOTS_PER_INCH,
            ignore_system_fonts=True,
            sys_inputs={"pdf": "certificate.pdf"},
        )
