"""The lab's own Python: typed benches and cards, transports, hosts, verdicts, undo, reports. No Robot Framework."""
