# SPDX-License-Identifier: Apache-2.0
"""Writes the list of everything in the image as CycloneDX JSON, with the licences that are known.

Needs Debian's python3-cyclonedx-lib and python3-debian: run it with /usr/bin/python3.
"""

import argparse
import hashlib
import re
import sys
from collections.abc import Iterable
from importlib.metadata import Distribution, distributions
from json import loads
from pathlib import Path

from cyclonedx.factory.license import LicenseFactory
from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.model.license import License
from cyclonedx.output import make_outputter
from cyclonedx.schema import OutputFormat, SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from debian.copyright import Copyright, NotMachineReadableError
from packageurl import PackageURL

_SCHEMA = SchemaVersion.V1_6
_LICENSES = LicenseFactory()
_PATHS = {
    "manifest": "mkosi's list of Debian packages",
    "copyright": "folder with PACKAGE/copyright of those",
    "lock": "the Python packages with their hashes",
    "installed": "folder they are installed in",
    "wheels": "folder of the files they were installed from",
}
_CLASSIFIER = "License :: OSI Approved :: "


def list_debian(manifest: str, copyright_folder: Path) -> list[Component]:
    """Components of mkosi's manifest (JSON, `packages` with name, version, architecture).

    `copyright_folder` has PACKAGE/copyright of each.
    """
    return [
        describe_debian(
            package["name"],
            package["version"],
            _read_debian_licenses(copyright_folder / package["name"] / "copyright"),
        )
        for package in loads(manifest)["packages"]
    ]


def describe_debian(name: str, version: str, licenses: Iterable[License] = ()) -> Component:
    """The component for a Debian package."""
    purl = PackageURL("deb", "debian", name, version, {"distro": "trixie"})
    return _describe(name, version, purl, licenses=licenses)


def list_python(lock: str, installed: Path, wheels: Path) -> list[Component]:
    """Components of a requirements file locked with hashes.

    Licences are those that the packages in the folder `installed` name themselves. A hash is that
    of the one file in the folder `wheels` which the lock allows: the lock has those of files for
    other systems as well.
    """
    found = {_normalize(each.name): each for each in distributions(path=[str(installed)])}
    present = {hashlib.sha256(each.read_bytes()).hexdigest() for each in wheels.iterdir()}
    components = []
    for entry in re.split(r"^(?=\S)", lock, flags=re.MULTILINE):
        pinned = re.match(r"([A-Za-z0-9._-]+)==([^\s\\]+)", entry)
        if pinned is None:
            continue
        name, version = pinned.groups()
        hashes = present.intersection(re.findall(r"--hash=sha256:(\w+)", entry))
        components.append(
            _describe(
                name,
                version,
                PackageURL("pypi", None, name, version),
                licenses=_find_python_licenses(found[_normalize(name)]),
                hashes=[HashType(alg=HashAlgorithm.SHA_256, content=each) for each in hashes],
            )
        )
    return components


def write_sbom(version: str, components: list[Component]) -> str:
    """The SBOM of Kaltstart in this version as JSON. Raises ValueError if it breaks the schema."""
    whole = _describe("kaltstart", version, None, kind=ComponentType.FIRMWARE)
    bom = Bom(components=components)
    bom.metadata.component = whole
    bom.register_dependency(whole, components)
    text = make_outputter(bom, OutputFormat.JSON, _SCHEMA).output_as_string(indent=1)
    mistake = JsonStrictValidator(_SCHEMA).validate_str(text)
    if mistake is not None:
        raise ValueError(f"the SBOM breaks CycloneDX's schema: {mistake}")
    return text


def _describe(
    name: str,
    version: str,
    purl: PackageURL | None,
    *,
    licenses: Iterable[License] = (),
    hashes: Iterable[HashType] = (),
    kind: ComponentType = ComponentType.LIBRARY,
) -> Component:
    return Component(
        name=name,
        version=version,
        type=kind,
        purl=purl,
        bom_ref=str(purl or name),
        licenses=licenses,
        hashes=hashes,
    )


def _read_debian_licenses(path: Path) -> list[License]:
    """By the short names of the copyright file; none where it is prose, or there is no file.

    Debian's names are not SPDX's: they stay names.
    """
    try:
        with path.open(encoding="utf-8") as file:
            paragraphs = list(Copyright(file, strict=False).all_files_paragraphs())
    except (FileNotFoundError, NotMachineReadableError):
        return []
    names = {each.license.synopsis for each in paragraphs if each.license is not None}
    return [_LICENSES.make_with_name(name) for name in sorted(names) if name]


def _find_python_licenses(distribution: Distribution) -> list[License]:
    about = distribution.metadata
    stated = about.get("License-Expression") or about.get("License")
    if stated:
        return [_LICENSES.make_from_string(stated)]
    classifiers = about.get_all("Classifier") or []
    return [
        _LICENSES.make_with_name(each.removeprefix(_CLASSIFIER))
        for each in classifiers
        if each.startswith(_CLASSIFIER)
    ]


def _normalize(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def main() -> None:
    """Print the SBOM; says on standard error how many licences are known."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("version", help="of Kaltstart")
    parser.add_argument("sources", nargs="*", help="NAME=VERSION of Debian packages it is made of")
    for name, text in _PATHS.items():
        parser.add_argument(f"--{name}", type=Path, required=True, help=text)
    given = parser.parse_args()
    components = [
        *list_debian(given.manifest.read_text(), given.copyright),
        *list_python(given.lock.read_text(), given.installed, given.wheels),
        *(describe_debian(*each.split("=", 1)) for each in given.sources),
    ]
    sys.stdout.write(write_sbom(given.version, components))
    known = sum(bool(each.licenses) for each in components)
    sys.stderr.write(f"sbom: {known} of {len(components)} parts with a known licence\n")


if __name__ == "__main__":
    main()
