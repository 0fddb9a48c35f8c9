"""The bench file: two servers, the ways to reach them, the paths between their ports, the switch."""
