"""The state of a bench that a run must leave as it found it: taken, compared, and who changed it."""
