"""NFS: the server on the dut, the client on the peer, and what its reads have to reach."""
