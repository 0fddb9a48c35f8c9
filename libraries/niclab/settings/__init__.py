"""Settings of the ports of the dut: MTU, rings, queues, coalescing, pause frames, offloads, steering, recommended ones."""
