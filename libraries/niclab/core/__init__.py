"""What everything else builds on: verdicts, waiting, running in parallel, the undo journal, names."""
