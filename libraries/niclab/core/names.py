"""Names that bench files, card sheets and servers share."""

from enum import StrEnum

UPPER_DEVICES = "niclab"
"""Begins the names of the bonds and VLANs that the lab makes: a name that no installer gives."""


class Duplex(StrEnum):
    """The duplex mode of a link: full if both ends may send at once."""

    FULL = "full"
    HALF = "half"
