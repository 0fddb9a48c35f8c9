"""The products of a card's vendor: driver packages, an apt repository, checksums with a signature, firmware images.

All of it is made for the bench, by content: packages of several versions, sound and defective ones, on a read-only
disk that a server with a virtual card finds at ``/srv/vendor``.
"""
