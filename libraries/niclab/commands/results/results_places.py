"""Places of the results of a lab: folders of runs, and the store that has them all."""

from __future__ import annotations

import os
from pathlib import Path

URL = "NICLAB_STORE"
"""Environment variable with the URL of the store of the lab; by default it is a file next to the runs."""
DEPTHS = ("2*", "*/2*", "*/*/2*")
"""Places of run folders below a folder of results: by themselves, of a build, of a bench of ``certify-all``."""


def store_is_there(results: Path) -> bool:
    """Return whether the lab has a results store: one by URL, or the file next to the runs.

    Args:
        results: Folder of the run folders.
    """
    return bool(os.environ.get(URL)) or (results / "history.sqlite").is_file()
