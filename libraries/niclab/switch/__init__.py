"""The managed switch of a bench: its ports, VLANs and tables over SNMP. Models are data: ``lab/switches``."""
