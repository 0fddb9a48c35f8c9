"""May tests make network namespaces here?"""

from __future__ import annotations

import os
import subprocess


def are_possible() -> bool:
    """Look whether this user may make one, with a pair of veth in it."""
    look = ["unshare", "-n", "ip", "link", "add", "test0", "type", "veth", "peer", "name", "test1"]
    try:
        return os.geteuid() == 0 and subprocess.run(look, capture_output=True).returncode == 0
    except OSError:
        return False
