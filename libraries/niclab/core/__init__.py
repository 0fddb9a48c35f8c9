"""The base of everything else: verdicts, waiting, running in parallel, the undo journal, names."""
