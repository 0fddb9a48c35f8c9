"""What a run keeps: its folder, its evidence with hashes and signature, its journal of tests."""
