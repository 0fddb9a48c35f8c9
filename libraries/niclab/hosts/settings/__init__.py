"""Settings of an interface: offloads, rings, coalescing, pause, queues, MTU."""
