"""Listeners and modifiers of Robot Framework: they watch or change a run, and hold no keywords."""
