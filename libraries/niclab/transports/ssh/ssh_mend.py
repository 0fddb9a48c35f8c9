"""The remedy for an SSH login that fails, by the cause."""

from __future__ import annotations

import shlex

from niclab.transports.ssh.ssh_records import SshEndpoint


def resolve(end: SshEndpoint) -> str:
    """Return the cure of an address that no name server knows."""
    where = "jump host" if end.jump else "controller"
    look = f"{_from(end.jump)}getent hosts {shlex.quote(end.address)}"
    return f"correct the address of {end.name}, or make the {where} resolve it: {look}"


def reach(end: SshEndpoint) -> str:
    """Return the cure of a server that cannot be reached."""
    way = f"; by way of {end.jump.user}@{end.jump.place}" if end.jump else ""
    return f"check that {end.name} is on and runs sshd at {end.place}, as the bench file says{way}"


def let_in(end: SshEndpoint) -> str:
    """Return the cure of a user or key that the server refuses."""
    if end.key_file is None:
        return f"check ssh.user {end.user} and its password"
    through = shlex.quote(f"ProxyCommand={_from(end.jump)}-W %h:%p") if end.jump else ""
    copy = f"ssh-copy-id {through and f'-o {through} '}-i {_word(end.key_file)} -p {end.port} {end.user}@{end.address}"
    return f"check ssh.user and ssh.key_file, and let the key in: {copy}"


def let_become_root(end: SshEndpoint) -> str:
    """Return the cure of a user whom sudo refuses, or asks for a password."""
    rule = shlex.quote(f"{end.user} ALL=(root) NOPASSWD: ALL")
    return f"on {end.name}, as root: echo {rule} > /etc/sudoers.d/niclab; or log in as root"


def make_key(end: SshEndpoint) -> str:
    """Return the cure of a key file that is missing or is no key."""
    return f"correct ssh.key_file, or make a key: ssh-keygen -t ed25519 -f {_word(end.key_file)}; then {let_in(end)}"


def keep_key(end: SshEndpoint) -> str:
    """Make the key file this user's alone."""
    own = f"chmod 600 {_word(end.key_file)}; it must belong to the user who runs niclab"
    return f"{own}; if others have read it, {make_key(end)}"


def keep_known_hosts(end: SshEndpoint) -> str:
    """Return the cure of a known_hosts file that others may write."""
    return f"chmod go-w {_word(end.known_hosts)}"


def add_host_key(end: SshEndpoint) -> str:
    """Return the cure of a host key that is not known."""
    scan = f"{_from(end.jump)}ssh-keyscan -p {end.port} {end.address} >> {_word(end.known_hosts)}"
    return f"Add the key, once compared with the one on the host: {scan}"


def replace_host_key(end: SshEndpoint) -> str:
    """Return the cure of a host key that is another than the known one."""
    forget = f"ssh-keygen -f {_word(end.known_hosts)} -R '{known_hosts_name(end)}'"
    return f"If the host was reinstalled: {forget}. {add_host_key(end)}"


def known_hosts_name(end: SshEndpoint) -> str:
    """Return the host as known_hosts calls it."""
    return end.address if end.port == 22 else f"[{end.address}]:{end.port}"


def _word(file: object) -> str:
    """The name of a file as one word of a shell."""
    return shlex.quote(str(file))


def _from(jump: SshEndpoint | None) -> str:
    """The beginning of a command line that is run on the jump host, if there is one."""
    if jump is None:
        return ""
    key = f"-i {_word(jump.key_file)} " if jump.key_file else ""
    return f"ssh -p {jump.port} {key}{jump.user}@{jump.address} "
