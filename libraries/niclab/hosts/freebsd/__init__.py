"""FreeBSD: readers of its tools, releases 8 to 14."""
