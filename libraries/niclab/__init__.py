"""The lab's own Python: typed benches and cards, transports, hosts, verdicts, undo, reports. No Robot Framework."""

__version__ = "0.1.0"
