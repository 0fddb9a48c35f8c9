"""The objects of the agent: one module a MIB, and the tree that holds them all.

Nothing here knows of SNMP's messages.
"""
