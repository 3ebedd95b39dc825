"""Writes the list of everything in the image as CycloneDX JSON.

`sbom.py MANIFEST LOCK [NAME=VERSION...] > SBOM`: MANIFEST is mkosi's list of Debian packages, LOCK
the Python packages with their hashes, NAME a Debian package
from which something in the image was made.
"""

import json
import re
import sys
from pathlib import Path
from typing import Any


def list_debian(manifest: str) -> list[dict[str, Any]]:
    """Components of mkosi's manifest (JSON, `packages` with name, version, architecture)."""
    packages = json.loads(manifest)["packages"]
    return [describe_debian(package["name"], package["version"]) for package in packages]


def describe_debian(name: str, version: str) -> dict[str, Any]:
    """The component for a Debian package."""
    return {
        "type": "library",
        "name": name,
        "version": version,
        "purl": f"pkg:deb/debian/{name}@{version}?distro=trixie",
    }


def list_python(lock: str) -> list[dict[str, Any]]:
    """Components of a requirements file locked with hashes."""
    found = re.findall(r"^([A-Za-z0-9._-]+)==([^\s\\]+)", lock, re.MULTILINE)
    return [
        {"type": "library", "name": name, "version": version, "purl": f"pkg:pypi/{name}@{version}"}
        for name, version in found
    ]


def main() -> None:
    """Print the SBOM of both files."""
    manifest, lock = (Path(name).read_text() for name in sys.argv[1:3])
    sources = [describe_debian(*word.split("=", 1)) for word in sys.argv[3:]]
    components = list_debian(manifest) + list_python(lock) + sources
    sbom = {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1, "components": components}
    json.dump(sbom, sys.stdout, indent=1)


if __name__ == "__main__":
    main()
