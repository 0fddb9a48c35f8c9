"""Crafted frames: sent and received with known content, every difference named (the frame ledger)."""
