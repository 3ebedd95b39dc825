"""Captured machines (tests/fixtures/machines), replayed through the code that reads real ones."""

import json
from pathlib import Path

from appliance.drives.model import Drive
from appliance.drives.probe import merge_serials, parse_lsblk, read_serial

FOLDER = Path(__file__).parents[2] / "fixtures" / "machines"


def load_drives(machine: str, folder: Path) -> tuple[Drive, ...]:
    """What `find_drives` would have found there. `folder` gets the machine's part of /sys."""
    captured = json.loads((FOLDER / f"{machine}.json").read_text())
    for name, text in captured["files"].items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode("latin-1"))
    for name, target in captured["links"].items():
        link = folder / name
        link.parent.mkdir(parents=True, exist_ok=True)
        (folder / target).mkdir(parents=True, exist_ok=True)
        link.symlink_to(folder / target)
    drives = parse_lsblk(json.dumps(captured["lsblk"]))
    return merge_serials(
        drives, {drive.path: read_serial(drive.name, sys=folder) for drive in drives}
    )
