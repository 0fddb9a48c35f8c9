"""A managed switch between the servers: ``python -m switch CONFIG.json``.

It bridges Ethernet frames that QEMU sends and takes as UDP datagrams, and it is managed as a real one is: over SNMP. It
has no spanning tree, no multicast snooping and no pause frames.
"""
