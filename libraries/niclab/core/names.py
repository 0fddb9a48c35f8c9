"""Names that bench files, card sheets and servers share."""

from enum import StrEnum


class Duplex(StrEnum):
    """Whether both ends of a link may send at once."""

    FULL = "full"
    HALF = "half"
