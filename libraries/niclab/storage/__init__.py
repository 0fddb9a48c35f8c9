"""Storage over a path: files that the dut serves over NFS, disks that it uses by iSCSI and NVMe, and what binds."""
