"""The record of a run: its folder, its evidence with hashes and signature, its journal of tests."""
