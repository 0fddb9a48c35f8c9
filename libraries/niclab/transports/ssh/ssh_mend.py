"""The remedy for an SSH login that fails, by the cause."""

from __future__ import annotations

import shlex

from niclab.transports.ssh.ssh_records import SshEndpoint


def resolve(end: SshEndpoint) -> str:
    """Return the cure of an address that no name server knows."""
    return (
        f"correct the address of {end.name}, or make the controller resolve it: getent hosts {shlex.quote(end.address)}"
    )


def reach(end: SshEndpoint) -> str:
    """Return the cure of a server that cannot be reached."""
    return f"check that {end.name} is on and runs sshd at {end.place}, as the bench file says"


def let_in(end: SshEndpoint) -> str:
    """Return the cure of a user or key that the server refuses."""
    if end.key_file is None:
        return f"check ssh.user {end.user} and its password"
    copy = f"ssh-copy-id -i {end.key_file} -p {end.port} {end.user}@{end.address}"
    return f"check ssh.user and ssh.key_file, and let the key in: {copy}"


def make_key(end: SshEndpoint) -> str:
    """Return the cure of a key file that is missing or is no key."""
    return f"correct ssh.key_file, or make a key: ssh-keygen -t ed25519 -f {end.key_file}; then {let_in(end)}"


def keep_key(end: SshEndpoint) -> str:
    """Make the key file this user's alone."""
    return (
        f"chmod 600 {end.key_file}; it must belong to the user who runs niclab; if others have read it, {make_key(end)}"
    )


def add_host_key(end: SshEndpoint) -> str:
    """Return the cure of a host key that is not known."""
    scan = f"ssh-keyscan -p {end.port} {end.address} >> {end.known_hosts}"
    return f"Add the key, once compared with the one on the host: {scan}"


def replace_host_key(end: SshEndpoint) -> str:
    """Return the cure of a host key that is another than the known one."""
    forget = f"ssh-keygen -f {end.known_hosts} -R '{known_hosts_name(end)}'"
    return f"If the host was reinstalled: {forget}. {add_host_key(end)}"


def known_hosts_name(end: SshEndpoint) -> str:
    """Return the host as known_hosts calls it."""
    return end.address if end.port == 22 else f"[{end.address}]:{end.port}"
