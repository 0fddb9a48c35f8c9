"""A server whose command dialect is FreeBSD's: see README.md."""
