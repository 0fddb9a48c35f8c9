"""Firmware that is written: the way back in the journal, and writes that a loss of power cuts off."""
