"""Drivers that a server builds of their source."""
