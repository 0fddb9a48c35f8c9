"""Disks over iSCSI that are reached over two paths: sessions, multipathd, maps, and the loss and return of a path."""
