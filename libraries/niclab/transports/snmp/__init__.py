"""SNMP: variables of a switch, read, and written with read-back."""
