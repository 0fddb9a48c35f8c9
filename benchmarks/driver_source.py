"""Source of network drivers as Debian's kernel packages have it, and what a reader can say of C without a compiler.

:func:`folder` fetches ``linux-source-VERSION`` through apt, unpacks a few of its folders alone and keeps them in
``~/.cache/niclab``, by the version of the package and a hash of their list. :class:`Driver` reads numbers, lists and
tables from them.
"""

from __future__ import annotations

import ast
import hashlib
import operator
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path

CACHE = Path("~/.cache/niclab").expanduser()
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
SUITES = ("bookworm", "trixie")
KERNELS = ("6.1", "6.12")
ETHERNET = "drivers/net/ethernet"
FOLDERS = tuple(
    f"{ETHERNET}/{name}"
    for name in (
        "alteon",
        "broadcom/bnx2x",
        "chelsio/cxgb4",
        "emulex/benet",
        "intel/e1000e",
        "intel/igb",
        "intel/ixgbe",
        "sfc",
    )
)


class SourceError(Exception):
    """The source cannot be fetched, or does not say what is looked for."""


def folder(kernel: str, renew: bool = False, members: tuple[str, ...] = FOLDERS) -> Path:
    """The unpacked folders of a kernel's source package; fetched when none is there.

    Args:
        kernel: ``6.1`` or ``6.12``: the name of the package behind ``linux-source-``.
        renew: Take the newest version that the archive has.
        members: Which folders.

    Raises:
        SourceError: With apt's or tar's words.
    """
    package = f"linux-source-{kernel}"
    recipe = hashlib.sha256("\n".join(members).encode()).hexdigest()[:8]
    kept = sorted(CACHE.glob(f"{package}_*-{recipe}"), key=lambda path: path.stat().st_mtime)
    if kept and not renew:
        return kept[-1]
    CACHE.mkdir(parents=True, exist_ok=True)
    _apt("update", "-q")
    version = _apt("show", "--no-all-versions", package).partition("\nVersion: ")[2].split("\n")[0]
    if not version:
        raise SourceError(f"{package}: apt shows no version of it in {', '.join(SUITES)}")
    target = CACHE / f"{package}_{version}-{recipe}"
    if not target.exists():
        _unpack(package, version, target, members)
    return target


def _unpack(package: str, version: str, target: Path, members: tuple[str, ...]) -> None:
    with tempfile.TemporaryDirectory(dir=CACHE, prefix="source-") as name:
        work = Path(name)
        _apt("download", "-q", f"{package}={version}", folder=work)
        (deb,) = work.glob("*.deb")
        tree = work / "tree"
        tree.mkdir()
        names = " ".join(f"{package}/{one}" for one in members)
        inner = f"./usr/src/{package}.tar.xz"
        script = (
            f"set -o pipefail; dpkg-deb --fsys-tarfile {deb} | tar -xO {inner} | "
            f"tar -xJ -C {tree} --strip-components=1 {names}"
        )
        _run(["bash", "-c", script], work)
        tree.rename(target)


def _apt(*words: str, folder: Path = CACHE) -> str:
    state = CACHE / "source-apt"
    for place in ("lists/partial", "cache/archives/partial"):
        (state / place).mkdir(parents=True, exist_ok=True)
    lines = [f"deb [signed-by={KEYRING}] http://deb.debian.org/debian {suite} main\n" for suite in SUITES]
    (state / "sources.list").write_text("".join(lines))
    options = {
        "Dir::Etc::sourcelist": state / "sources.list",
        "Dir::Etc::sourceparts": "-",
        "Dir::State::Lists": state / "lists",
        "Dir::Cache": state / "cache",
        "APT::Sandbox::User": "root",
        "Debug::NoLocking": "1",
    }
    program = "apt-cache" if words[0] == "show" else "apt-get"
    return _run([program, *(f"-o{name}={value}" for name, value in options.items()), *words], folder)


def _run(command: list[str], folder: Path) -> str:
    if not shutil.which(command[0]):
        raise SourceError(f"this machine lacks {command[0]}")
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode:
        raise SourceError(f"{command[0]} failed with status {done.returncode}: {done.stderr.strip()}")
    return done.stdout


class Driver:
    """The source of one driver.

    Args:
        path: Its folder.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def text(self, name: str) -> str:
        """A file without comments, with continued lines joined."""
        return _text(self._path / name)

    def value(self, name: str, expression: str) -> int:
        """Value of C arithmetic on numbers and symbols that a file defines, such as ``MAX_EITR >> 2``.

        Raises:
            SourceError: The file does not define a symbol, or it is no arithmetic.
        """
        plain = re.sub(r"\b(0x[0-9a-fA-F]+|[0-9]+)[uUlL]+\b", r"\1", expression.strip())
        plain = re.sub(r"sizeof\((?:struct|union) (\w+)\)", r"\1", plain)
        try:
            tree = ast.parse(plain, mode="eval")
        except SyntaxError as error:
            raise SourceError(f"{self._path / name}: {expression!r} is no arithmetic") from error
        return self._evaluate(name, tree.body)

    def _number(self, name: str, symbol: str) -> int:
        """Value of a symbol: a macro, a member of an enumeration, or a variable with its first value."""
        forms = (
            rf"^[ \t]*#[ \t]*define[ \t]+{symbol}[ \t]+(.+)$",
            rf"^[ \t]*{symbol}[ \t]*=[ \t]*([^,;]+),?",
            rf"\b{symbol}[ \t]*=[ \t]*([^,;]+);",
        )
        for form in forms:
            if match := re.search(form, self.text(name), re.MULTILINE):
                return self.value(name, match[1])
        raise SourceError(f"{self._path / name}: does not define {symbol}")

    def _evaluate(self, name: str, node: ast.expr) -> int:
        if isinstance(node, ast.Constant) and isinstance(node.value, int):
            return node.value
        if isinstance(node, ast.Name):
            return _KNOWN.get(node.id) or self._number(name, node.id)
        if isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
            sides = self._evaluate(name, node.left), self._evaluate(name, node.right)
            return _ARITHMETIC[type(node.op)](*sides)
        raise SourceError(f"{self._path / name}: {ast.unparse(node)!r} is no arithmetic")

    def words(self, name: str, pattern: str) -> set[str]:
        """All that the group of a pattern matches in a file."""
        return set(re.findall(pattern, self.text(name)))

    def operations(self, name: str) -> set[str]:
        """Operations of ``struct ethtool_ops`` that a file fills in."""
        tables = re.findall(r"struct ethtool_ops \w+ = \{(.*?)\n\};", self.text(name), re.DOTALL)
        return set(re.findall(r"\.(\w+)\s*=\s*[A-Za-z_]", "\n".join(tables)))

    def coalescing(self, name: str) -> set[str]:
        """Parameters of ``ethtool -C`` that a driver supports, and ``adaptive-rx``, ``adaptive-tx``."""
        match = re.search(r"\.supported_coalesce_params\s*=\s*([^,]+),", self.text(name))
        found = re.findall(r"ETHTOOL_COALESCE_(\w+)", match[1]) if match else []
        return {parameter for macro in found for parameter in _COALESCING[macro]}

    def features(
        self,
        name: str,
        function: str,
        depth: int,
        holds: tuple[str, ...] = (),
        before: Mapping[str, set[str]] | None = None,
    ) -> dict[str, set[str]]:
        """Return what a function puts into ``features`` and ``hw_features`` of a device, statement by statement.

        Args:
            name: File.
            function: Name of the function.
            depth: Tabulators before statements that are always reached.
            holds: Deeper statements count only behind a line of these words.
            before: What the sets hold before, by other parts of the driver.
        """
        body = re.search(rf"^[^\n]*\b{function}\([^;]*?\n\{{\n(.*?)\n\}}\n", self.text(name), re.DOTALL | re.MULTILINE)
        if body is None:
            raise SourceError(f"{self._path / name}: no function {function}")
        sets: dict[str, set[str]] = {"features": set(), "hw_features": set(), **(before or {})}
        for tabs, line, field, sign, expression in _statements(body[1]):
            if field in sets and (tabs <= depth or any(words in line for words in holds)):
                wanted = self._bits(name, expression, sets)
                sets[field] = {"=": wanted, "|=": sets[field] | wanted, "&=": sets[field] - wanted}[sign]
        return sets

    def _bits(self, name: str, expression: str, sets: Mapping[str, set[str]]) -> set[str]:
        found = set(re.findall(r"NETIF_F_(\w+)", expression))
        for field in re.findall(r"->(hw_features|features)\b", expression):
            found |= sets[field]
        for macro in re.findall(r"\b(?!NETIF_F_)([A-Z][A-Z0-9_]{4,})\b", expression):
            if define := re.search(rf"^[ \t]*#[ \t]*define[ \t]+{macro}[ \t]+(.+)$", self.text(name), re.MULTILINE):
                found |= self._bits(name, define[1], sets)
        return found


def _statements(body: str) -> Iterator[tuple[int, str, str, str, str]]:
    """Tabulators, the line before, field, sign and expression of each assignment to features of a device."""
    pattern = re.compile(r"^(\t+)(?:net_?dev|dev)->(\w*features)\s*(\|?=|&=)\s*~?\s*([^;]+);", re.MULTILINE)
    for match in pattern.finditer(body):
        before = body[: match.start()].rstrip("\n").rpartition("\n")[2]
        yield len(match[1]), before, match[2], match[3], match[4]


@cache
def _text(path: Path) -> str:
    if not path.is_file():
        raise SourceError(f"{path}: no such file")
    plain = re.sub(r"/\*.*?\*/|//[^\n]*", "", path.read_text(errors="replace"), flags=re.DOTALL)
    return re.sub(r"\\\n", " ", plain)


_ARITHMETIC: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.floordiv,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
}
_KNOWN = {
    "ETH_HLEN": 14,
    "ETH_ZLEN": 60,
    "ETH_FCS_LEN": 4,
    "VLAN_HLEN": 4,
    "VLAN_ETH_HLEN": 18,
    "ETH_MIN_MTU": 68,
    "eth_rx_bd": 8,
    "eth_tx_bd_types": 16,
}
"""Numbers from headers of the whole kernel, and sizes of structures of firmware interfaces."""
_COALESCING: Mapping[str, tuple[str, ...]] = {
    "RX_USECS": ("rx-usecs",),
    "RX_MAX_FRAMES": ("rx-frames",),
    "TX_MAX_FRAMES": ("tx-frames",),
    "TX_USECS_IRQ": ("tx-usecs-irq",),
    "MAX_FRAMES": ("rx-frames", "tx-frames"),
    "USECS": ("rx-usecs", "tx-usecs"),
    "USECS_IRQ": ("rx-usecs-irq", "tx-usecs-irq"),
    "USECS_LOW_HIGH": ("rx-usecs-low", "rx-usecs-high", "tx-usecs-low", "tx-usecs-high"),
    "USE_ADAPTIVE": ("adaptive-rx", "adaptive-tx"),
    "USE_ADAPTIVE_RX": ("adaptive-rx",),
}
