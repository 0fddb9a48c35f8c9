"""Storage while a link below it fails and returns: how long it waits, and how long it may."""
