"""``python tests/hosts/convert_examples.py KIND...`` writes ``examples/KIND.yaml`` from the two older forms.

It goes with the last of them.
"""

# ruff: noqa

import json
import re
import sys

sys.path.insert(0, "tests/hosts")
sys.path.insert(0, "libraries")
from pathlib import Path

import examples as X

from niclab.hosts.errors import ReadError
from niclab.commands.parse import parse

H = Path("tests/hosts")
SYN = re.compile(
    r"construct|written from memory|not a capture|made up|after the|shape of|written after|by hand|in the form|as printed by",
    re.I,
)
for kind in sys.argv[1:]:
    out = []
    names = set()

    def add(**k):
        n = k["name"]
        while k["name"] in names:
            k["name"] += "-2"
        names.add(k["name"])
        out.append(X.Example(kind=kind, **k))

    for p in sorted((H / "captures" / kind).glob("*.txt")):
        raw = p.read_bytes().decode().split("\n")
        origin = " ".join(l[2:].strip() for l in raw if l.startswith("#|")) or "unknown"
        text = "\n".join(l for l in raw if not l.startswith("#|"))
        try:
            exp, ref = json.loads(json.dumps(parse(kind, text))), False
        except ReadError:
            exp, ref = None, True
        add(name=p.stem, origin=origin, synthetic=bool(SYN.search(origin)), text=text, expected=exp, refused=ref)
    f = H / "examined" / f"{kind}.json"
    if f.exists():
        d = json.loads(f.read_text())
        for part in ("read", "refused"):
            for e in d[part]:
                origin = e.get("origin") or ("constructed" if part == "refused" else "unknown")
                add(
                    name=e["name"],
                    origin=origin,
                    synthetic=bool(SYN.search(origin)),
                    text="\n".join(e["text"]),
                    command=e.get("command"),
                    expected=e.get("expected"),
                    refused=part == "refused",
                )
    X.write(kind, out)
    print(kind, len(out), len((H / "examples" / f"{kind}.yaml").read_text().split("\n")))
