"""Receive queues: flows are spread over them as the card's indirection table says."""
