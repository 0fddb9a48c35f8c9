"""Linux: readers of its tools' texts, and :class:`~niclab.hosts.linux.host.LinuxHost` above them."""
