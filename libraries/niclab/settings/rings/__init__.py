"""Rings of descriptors: their sizes, and the memory that they take."""
