"""Redfish over HTTPS. :mod:`bmc.redfish.https` is the HTTP server, :mod:`bmc.redfish.app` knows accounts, paths and
actions, :mod:`bmc.redfish.resources` builds the resources, :mod:`bmc.redfish.messages` the errors.

The model is that of the DMTF's DSP0266 (protocol) and DSP0268 (schemas); it is the part a lab needs, not all of it.
"""
