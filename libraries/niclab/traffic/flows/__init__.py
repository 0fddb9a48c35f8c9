"""Traffic that is kept flowing: TCP, TCP over IPv6 and in a VLAN, and datagrams of many flows."""
