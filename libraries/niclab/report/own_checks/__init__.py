"""Checks that belong to a run as a whole and to no test of it."""
