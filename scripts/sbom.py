"""Write the bill of materials of a build as CycloneDX 1.6: ``python scripts/sbom.py > FILE``.

Its components are the pinned requirements with their hashes, the embedding models and the vendored scripts. Like the build, it is
reproducible byte for byte.
"""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
VENDORED = ROOT / "src" / "kept" / "web" / "static" / "vendored.txt"
_PINNED = re.compile(r"^([\w.-]+)==([^\s;\\]+)(?: ; ([^\\\n]+?))? \\\n((?: +--hash=sha256:\w+(?: \\)?\n)+)", re.MULTILINE)


def list_components() -> list[dict[str, Any]]:
    """The components that are installed with kept, fetched by its build, or shipped in it, sorted by name."""
    pinned = [each for name in ("requirements.txt", "requirements-model.txt") for each in read_pinned(ROOT / name)]
    return sorted((*pinned, *read_vendored()), key=lambda each: (each["name"], each["version"]))


def read_pinned(path: Path) -> Iterator[dict[str, Any]]:
    """The packages in a file of pinned requirements, each with its environment marker."""
    for name, version, marker, hashes in _PINNED.findall(f"{path.read_text(encoding='utf-8').rstrip()}\n"):
        found = _component(name, version, f"pkg:pypi/{name}@{version}", re.findall(r"sha256:(\w+)", hashes))
        yield found | ({"properties": [{"name": "kept:marker", "value": marker}]} if marker else {})


def read_vendored() -> Iterator[dict[str, Any]]:
    """The vendored scripts of the page."""
    for line in VENDORED.read_text(encoding="utf-8").splitlines():
        if ".js  " in line:
            digest, _, about = line.split("  ", 2)
            told, licence, package = about.rsplit(", ", 2)
            name, version = package.removeprefix("npm package "), told.rsplit(" ", 1)[1]
            identifier = {"MIT": "MIT", "Zero-Clause BSD": "0BSD"}[licence]
            found = _component(name, version, f"pkg:npm/{name}@{version}", [digest])
            yield found | {"licenses": [{"license": {"id": identifier}}]}


def _component(name: str, version: str, purl: str, hashes: list[str]) -> dict[str, Any]:
    listed = [{"alg": "SHA-256", "content": each} for each in hashes]
    return {"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl, "hashes": listed}


def main() -> None:
    """Write the bill of materials to standard output."""
    version = re.findall(r'__version__ = "(.+)"', (ROOT / "src" / "kept" / "__init__.py").read_text(encoding="utf-8"))[0]
    own = {"type": "application", "bom-ref": "kept", "name": "kept", "version": version, "purl": f"pkg:pypi/kept@{version}"}
    own |= {"licenses": [{"license": {"id": "Apache-2.0"}}]}
    body = {"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1, "metadata": {"component": own}}
    json.dump(body | {"components": list_components()}, sys.stdout, indent=1)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
