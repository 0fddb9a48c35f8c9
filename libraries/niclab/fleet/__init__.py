"""Benches of a whole lab, which labgrid's coordinator shares out between people and pipelines.

The coordinator has no lease and forgets after a restart who holds what. A run therefore has an owner name of its own,
notes a deadline in the comment of its place, acquires the place again after a restart, and a reaper releases the places
whose deadline has passed. :mod:`niclab.fleet.agent` runs in the virtual environment of labgrid, all else in this one.
"""
