"""The virtual BMC: IPMI 2.0 over LAN and Redfish over HTTPS in front of one machine, usually a QEMU.

Map: :mod:`bmc.service` is the state both protocols act on; :mod:`bmc.ipmi` and :mod:`bmc.redfish` are the protocols;
:mod:`bmc.machine` says what a machine must be able to do and :mod:`bmc.qemu` is the one that does it;
:mod:`bmc.control` injects faults. Start it with ``python -m bmc CONFIG.json``.

"IPMI" in comments means the *Intelligent Platform Management Interface Specification, Second Generation, v2.0,
rev. 1.1 (E7)*; section and table numbers are its own. "SEL", "SDR" and "FRU" are its System Event Log, Sensor Data
Records and Field Replaceable Unit inventory.
"""
