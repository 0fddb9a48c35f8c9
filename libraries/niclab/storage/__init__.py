"""Storage workloads over a path: files that the dut serves over NFS, disks that it uses over iSCSI, and what binds."""
