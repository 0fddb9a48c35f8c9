"""The store of the results of all runs."""
