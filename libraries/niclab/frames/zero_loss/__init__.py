"""The highest rate of frames at which none is lost (RFC 2544, 26.1)."""
