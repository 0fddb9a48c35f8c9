"""The serial console of a server: a shell on it, its log, and the words of a dying kernel."""
