"""How long traffic is interrupted, by probes from both ends."""
