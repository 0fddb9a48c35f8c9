"""Asking results: reports, comparisons, baselines, history, verification."""
