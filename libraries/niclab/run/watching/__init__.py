"""Watches during a run: kernels, standstills, what tests leave behind, evidence of failures."""
