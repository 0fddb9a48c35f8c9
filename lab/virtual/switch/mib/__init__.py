"""What the agent shows: one module a MIB, and the tree that holds them all. Nothing here knows of SNMP's messages."""
