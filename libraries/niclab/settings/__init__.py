"""Settings of the dut's ports: offloads, rings, queues, coalescing, pause frames, MTU, steering, recommended values."""
