"""What CPUs and interfaces of a host have counted."""
