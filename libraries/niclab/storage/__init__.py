"""Storage workloads over a path: what an NFS server behind the card under test serves, and what holds it back."""
