"""Checks of the card that need no traffic: identity, driver, driver package, firmware, PCI Express.

Each function takes the run, asks every port, and raises once with every problem.
"""
