"""The duration of interruptions of traffic, by probes from both ends."""
