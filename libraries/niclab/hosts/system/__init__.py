"""The system of a host: clock, boot, release, tools, restart."""
