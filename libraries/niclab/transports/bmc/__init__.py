"""Power, sensors and logs of a server's BMC, over IPMI or Redfish."""
