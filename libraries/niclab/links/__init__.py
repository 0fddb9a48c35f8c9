"""A link from port to port: carrier, how it fails, what proves its wiring, what is built upon it."""
