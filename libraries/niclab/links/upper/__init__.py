"""Upper devices of a bench's links: bonds and VLANs, and LACP."""
