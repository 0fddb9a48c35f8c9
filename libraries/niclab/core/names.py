"""Names that bench files, card sheets and servers share."""

from enum import StrEnum


class Duplex(StrEnum):
    """The duplex mode of a link: full if both ends may send at once."""

    FULL = "full"
    HALF = "half"
