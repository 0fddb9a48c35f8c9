"""Settings of ports and servers: MTU, steering, the recommended configuration."""
