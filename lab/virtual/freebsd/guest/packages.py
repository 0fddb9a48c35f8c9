"""Packages: pkg_add, pkg_delete and pkg_info before release 10; from there on pkg."""

from __future__ import annotations

import fnmatch
import os
import shutil
import sys

from below import ROOT, Refusal, facts, read, release, write

_DB = "/var/db/pkg"
_NOT_SET_UP = (
    "The package management tool is not yet installed on your system.\nDo you want to fetch and install it now? [y/N]: "
)


def installed() -> dict[str, str]:
    """Name -> version of every package."""
    try:
        names = sorted(os.listdir(f"{ROOT}{_DB}"))
    except FileNotFoundError:
        return {}
    return {name.rpartition("-")[0]: name.rpartition("-")[2] for name in names if "-" in name}


def _only_before_10(tool: str) -> None:
    if release() >= (10, 0):
        raise Refusal(f"{tool}: Command not found.", 127)


def pkg_info(arguments: list[str]) -> int:
    _only_before_10("pkg_info")
    letters = "".join(word[1:] for word in arguments if word.startswith("-"))
    patterns = [word for word in arguments if not word.startswith("-")]
    names = [f"{name}-{version}" for name, version in installed().items()]
    if "E" in letters:
        found = [name for name in names if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)]
        for name in found:
            print(name)
        return 0 if found else 1
    if not patterns:
        for name in names:
            print(f"{name:<20} {_file(name, '+COMMENT').strip()}")
        return 0
    if "W" in letters:
        for file in patterns:
            for name in _owners(file):
                print(name if "q" in letters else f"{file} was installed by package {name}")
        return 0
    failed = 0
    for pattern in patterns:
        found = [name for name in names if fnmatch.fnmatchcase(name, pattern)]
        if not found:
            sys.stderr.write(f"pkg_info: can't find package '{pattern}' installed or in a file!\n")
            failed = 1
        for name in found:
            _show(name, letters)
    return failed


def _show(name: str, letters: str) -> None:
    if "L" in letters:
        if "q" not in letters:
            print(f"Information for {name}:\n\nFiles:")
        for file in _files(name):
            print(file)
        return
    print(f"Information for {name}:\n\nComment:\n{_file(name, '+COMMENT').strip()}\n")
    print(f"\nDescription:\n{_file(name, '+DESC').strip()}\n\n")


def _files(name: str) -> list[str]:
    """The files that a package brought."""
    prefix, found = "", []
    for line in _file(name, "+CONTENTS").splitlines():
        if line.startswith("@cwd "):
            prefix = line.removeprefix("@cwd ").rstrip("/")
        elif line and line[0] not in "@+":
            found.append(f"{prefix}/{line}")
    return found


def _owners(file: str) -> list[str]:
    """The packages that brought a file, with their versions."""
    names = [f"{name}-{version}" for name, version in installed().items()]
    return [name for name in names if file in _files(name)]


def _file(name: str, file: str) -> str:
    return read(f"{_DB}/{name}/{file}") or ""


def pkg_add(arguments: list[str]) -> int:
    _only_before_10("pkg_add")
    letters = "".join(word[1:] for word in arguments if word.startswith("-"))
    names = [word for word in arguments if not word.startswith("-")]
    if not names or any(letter not in "vIfFnRK" for letter in letters):
        raise Refusal("usage: pkg_add [-viInfFrRMSK] [-t template] [-p prefix] [-P prefix] [-C chrootdir]")
    failed = 0
    for name in names:
        try:
            _add(name, forced="f" in letters.lower())
        except Refusal as refusal:
            sys.stderr.write(f"{refusal}\n")
            failed = 1
    return failed


def _add(name: str, *, forced: bool) -> None:
    import tarfile

    path = _archive(name)
    if path is None:
        raise Refusal(f"pkg_add: can't stat package file '{name}'")
    try:
        with tarfile.open(f"{ROOT}{path}") as archive:
            texts = {
                member.name: _member(archive, member) for member in archive.getmembers() if member.name.startswith("+")
            }
            full = _named(texts.get("+CONTENTS", b"").decode())
            known = installed()
            if known.get(full.rpartition("-")[0]) and not forced:
                same = full.rpartition("-")[0]
                raise Refusal(
                    f"pkg_add: package '{full}' or its older version already installed"
                    f"\npkg_add: {same}-{known[same]} is installed"
                )
            for member in archive.getmembers():
                if not member.name.startswith("+"):
                    _put(f"/{member.name}", _member(archive, member))
    except (tarfile.TarError, EOFError, OSError) as error:
        raise Refusal(
            f"pkg_add: tar extract of {path} failed!\npkg_add: unable to extract '{path}': {error}"
        ) from error
    for file, text in texts.items():
        write(f"{_DB}/{full}/{file}", text.decode())


def _member(archive: object, member: object) -> bytes:
    content = archive.extractfile(member)  # type: ignore[attr-defined]
    return b"" if content is None else bytes(content.read())


def _put(path: str, content: bytes) -> None:
    whole = f"{ROOT}{path}"
    os.makedirs(os.path.dirname(whole), exist_ok=True)
    with open(f"{whole}.new", "wb") as file:
        file.write(content)
    os.replace(f"{whole}.new", whole)


def _archive(name: str) -> str | None:
    """The package file: as named, else in the folders of PKG_PATH."""
    if "/" in name or name.endswith((".tbz", ".txz", ".tgz")):
        path = name if name.startswith("/") else os.path.join(os.getcwd(), name)
        return path if os.path.isfile(f"{ROOT}{path}") else _in_path(name)
    return _in_path(f"{name}.tbz")


def _in_path(file: str) -> str | None:
    for folder in [*os.environ.get("PKG_PATH", "").split(":")]:
        if folder and os.path.isfile(f"{ROOT}{folder}/{file}"):
            return f"{folder}/{file}"
    return None


def _named(contents: str) -> str:
    for line in contents.splitlines():
        if line.startswith("@name "):
            return line.removeprefix("@name ").strip()
    raise Refusal("pkg_add: package has no name in its packing list")


def pkg_delete(arguments: list[str]) -> int:
    _only_before_10("pkg_delete")
    names = [word for word in arguments if not word.startswith("-")]
    if not names:
        raise Refusal("usage: pkg_delete [-dDfGinv] [-p prefix] pkg-name ...")
    failed = 0
    for name in names:
        if not os.path.isdir(f"{ROOT}{_DB}/{name}"):
            sys.stderr.write(f"pkg_delete: no such package '{name}' installed\n")
            failed = 1
            continue
        _delete(name)
    return failed


def _delete(name: str) -> None:
    for file in _files(name):
        if os.path.exists(f"{ROOT}{file}"):
            os.unlink(f"{ROOT}{file}")
    shutil.rmtree(f"{ROOT}{_DB}/{name}")


def pkg(arguments: list[str]) -> int:
    """Set up from release 10 on; before, it only offers to be fetched, which this server has no network for."""
    if release() < (10, 0):
        sys.stderr.write(_NOT_SET_UP)
        return 1
    words = [word for word in arguments if not word.startswith("-")]
    if arguments[:1] == ["-N"]:
        if not installed():
            raise Refusal("pkg: no packages registered")
        sys.stderr.write(f"pkg: {len(installed())} packages installed\n")
        return 0
    if words[:1] == ["info"]:
        return _new_info(words[1:])
    if words[:1] == ["query"] and len(words) >= 2:
        return _query(words[1], words[2:])
    if words[:1] == ["which"] and len(words) == 2:
        return _which(words[1], "-q" in arguments)
    if words[:1] == ["delete"]:
        return _new_delete(words[1:])
    if words[:1] == ["install"]:
        _new_install(words[1:])
    raise Refusal(f"pkg: unknown command: {' '.join(arguments)}", 64)


def _new_info(names: list[str]) -> int:
    known = installed()
    for name in names or known:
        bare = name if name in known else name.rpartition("-")[0]
        if bare not in known:
            raise Refusal(f"pkg: No package(s) matching {name}", 70)
        full = f"{bare}-{known[bare]}"
        print(full if names else f"{full:<30} {_file(full, '+COMMENT').strip()}")
    return 0


def _query(form: str, names: list[str]) -> int:
    known = installed()
    found = [name for name in known if not names or name in names or f"{name}-{known[name]}" in names]
    abi = f"FreeBSD:{release()[0]}:{facts()['machine']}"
    for name in found:
        values = {"n": name, "v": known[name], "q": abi, "c": _file(f"{name}-{known[name]}", "+COMMENT").strip()}
        text = form.replace("\\t", "\t").replace("\\n", "\n")
        for letter, value in values.items():
            text = text.replace(f"%{letter}", value)
        print(text)
    return 0 if found or not names else 1


def _which(file: str, quiet: bool) -> int:
    """As src/which.c of pkg: 70 where nobody brought the file."""
    owners = _owners(file)
    for name in owners:
        print(name if quiet else f"{file} was installed by package {name}")
    if not owners and not quiet:
        print(f"{file} was not found in the database")
    return 0 if owners else 70


def _new_delete(names: list[str]) -> int:
    known = installed()
    for name in names:
        if name not in known:
            raise Refusal(f"No packages matched for pattern '{name}'\n\nChecking integrity... done (0 conflicting)", 65)
        _delete(f"{name}-{known[name]}")
    return 0


def _new_install(names: list[str]) -> None:
    """There is no repository: nothing matches."""
    for name in names:
        raise Refusal(
            f"pkg: No packages available to install matching '{name}' have been found in the repositories", 70
        )
