"""IPMI 2.0 over LAN. From the wire inwards: :mod:`bmc.ipmi.lan` takes datagrams, :mod:`bmc.ipmi.rmcp` packs and
unpacks them, :mod:`bmc.ipmi.sessions` opens sessions (with :mod:`bmc.ipmi.crypto`), and :mod:`bmc.ipmi.commands`
carries out the commands."""
