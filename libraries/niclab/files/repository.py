"""The place of suites, resources and lab: in the checkout, or in the copy that an installed package brings."""

from __future__ import annotations

from pathlib import Path

COPY = "niclab_tree"
"""Folder next to an installed ``niclab`` that holds what a checkout holds; ``setup.py`` makes it."""


def root_of(package: Path) -> Path:
    """Find the root of the repository.

    Args:
        package: Folder of the package ``niclab``.

    Returns:
        The checkout that the package lies in, else the installed copy.
    """
    checkout = package.parents[1]
    return checkout if (checkout / "suites").is_dir() else package.parent / COPY


REPOSITORY = root_of(Path(__file__).resolve().parents[1])
"""``lab/`` is here, and commands of a bench file run here."""
RESULTS = Path("results").resolve() if REPOSITORY.name == COPY else REPOSITORY / "results"
"""Folder of runs: in the checkout; in the present folder for an installed package."""
