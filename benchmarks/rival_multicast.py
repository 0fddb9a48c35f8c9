#!/usr/bin/python3
"""A stand-in for ``msend`` and ``mreceive`` of troglobit/mtools, which Debian does not have; named by how it is called.

The kernel's ``net/forwarding/lib.sh`` calls ``msend -g GROUP -I INTERFACE -c 1`` to send one datagram to a group, and
``mreceive -g GROUP -I INTERFACE`` to be a member of one until it is ended: it does not look at what arrives.
"""

import ipaddress
import signal
import socket
import sys


def main(name: str, words: list[str]) -> None:
    if "-v" in words:
        print(f"{name} version 3.0")
        return
    given = dict(zip(words[::2], words[1::2], strict=False))
    group = ipaddress.ip_address(given["-g"])
    index = socket.if_nametoindex(given["-I"]).to_bytes(4, sys.byteorder)
    if group.version == 4:
        family, level = socket.AF_INET, socket.IPPROTO_IP
        member = (socket.IP_ADD_MEMBERSHIP, group.packed + bytes(4) + index)
        out = (socket.IP_MULTICAST_IF, bytes(8) + index)
    else:
        family, level = socket.AF_INET6, socket.IPPROTO_IPV6
        member, out = (socket.IPV6_JOIN_GROUP, group.packed + index), (socket.IPV6_MULTICAST_IF, index)
    with socket.socket(family, socket.SOCK_DGRAM) as end:
        if name == "mreceive":
            end.setsockopt(level, *member)
            signal.pause()
        end.setsockopt(level, *out)
        end.sendto(bytes(100), (str(group), 4444))


if __name__ == "__main__":
    main(sys.argv[0].rpartition("/")[2], sys.argv[1:])
