"""Captures machines as the running image sees them: `python3 -m tests.lab.capture [NAME…]`.

Boots each of `shapes.SHAPES` (or those that are named), one after the other, asks it from inside
(`inside.py`), and writes tests/fixtures/machines/NAME.json.
"""

import base64
import json
import shutil
import sys
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.lab.agent import credentials, listen
from tests.lab.campaign import IMAGE, REPO
from tests.lab.drives import DriveBay, ModelledDrive
from tests.lab.foreign import make_foreign_images
from tests.lab.machine import LabTimeoutError, Machine, MachineOffError, MachineSetup
from tests.lab.qmp import QmpError
from tests.lab.shapes import SHAPES, Shape
from tests.lab.stick import make_stick

FOLDER = REPO / "tests/fixtures/machines"
_OUT = REPO / "build/captured"
_TIMEOUT_S = 900
_INSIDE = Path(__file__).with_name("inside.py")
# It only takes time here, a third of the machine's.
_NO_TUI = {
    f"systemd.unit-dropin.kaltstart-tui@{tty}.service": "[Unit]\nConditionPathExists=/nowhere\n"
    for tty in ("tty1", "ttyS0")
}
_AGENT = """\
until grep -q '"phase": "\\(idle\\|refused\\)"' /run/kaltstart/status.json; do sleep 1; done 2> /dev/null
say version $(. /usr/lib/os-release; echo "$VERSION_ID $IMAGE_VERSION, Linux $(uname -r)")
PATH=$PATH:/usr/sbin:/sbin
@PREPARE@
udevadm settle --timeout=20
python3 - > /run/capture.txt 2>&1 <<'EOF' || { while read -r line; do say failed-$((++n)) "$line"; done < /run/capture.txt; say end; }
@INSIDE@
EOF
"""  # noqa: E501 - shell


def capture(shape: Shape, out: Path) -> dict[str, Any]:
    """Boot a machine of this shape and ask it. Raises LabTimeoutError, RuntimeError."""
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    script = _AGENT.replace("@PREPARE@", shape.prepare).replace("@INSIDE@", _INSIDE.read_text())
    setup = MachineSetup(
        stick=make_stick(IMAGE, out / "stick.raw"),
        second_stick=make_stick(IMAGE, out / "stick-2.raw") if shape.second_stick else None,
        serial_log=out / "serial.log",
        firmware=shape.firmware,
        credentials=credentials(script) | _NO_TUI,
    )
    with (
        DriveBay([*shape.drives, *_foreign(shape, out)], folder=out / "drives") as bay,
        Machine(setup, drives=bay.attached(power_on=1)) as machine,
    ):
        said = listen(machine, timeout_s=_TIMEOUT_S)
    if "pieces" not in said:
        raise RuntimeError("\n".join(f"{key} {text}" for key, text in said.items()))
    packed = "".join(said[f"piece-{n}"] for n in range(int(said["pieces"])))
    found: dict[str, Any] = json.loads(zlib.decompress(base64.b64decode(packed)))
    return {"about": f"{shape.about} (QEMU 10.0, q35, {shape.firmware}; {said['version']})"} | found


def _foreign(shape: Shape, out: Path) -> list[ModelledDrive]:
    if not shape.foreign:
        return []
    images = make_foreign_images(out / "images")
    return [
        ModelledDrive(serial=name, bus="scsi", size_bytes=path.stat().st_size, file=path)
        for name, path in images.items()
    ]


def dump_machine(captured: Mapping[str, Any]) -> str:
    """The JSON of a machine, with a line for each device, file and answer. Pure."""
    parts = [f'"about": {_line(captured["about"])}']
    devices = ",\n".join(f"  {_line(device)}" for device in captured["lsblk"]["blockdevices"])
    parts.append(f'"lsblk": {{"blockdevices": [\n{devices}\n ]}}')
    for key in ("links", "files", "smartctl", "reads"):
        lines = ",\n".join(
            f"  {_line(name)}: {_line(value)}" for name, value in sorted(captured[key].items())
        )
        parts.append(f'"{key}": {{\n{lines}\n }}')
    return "{\n " + ",\n ".join(parts) + "\n}\n"


def _line(value: object) -> str:
    return json.dumps(value)


def main(names: list[str]) -> int:
    """Capture the named machines, or all."""
    unknown = sorted(set(names) - set(SHAPES))
    if unknown:
        print(f"no machine {unknown[0]!r}; there are {', '.join(SHAPES)}", file=sys.stderr)
        return 2
    failed = 0
    for name in names or SHAPES:
        try:
            captured = capture(SHAPES[name], _OUT / name)
        except (LabTimeoutError, MachineOffError, QmpError, RuntimeError) as error:
            failed += 1
            print(f"{name}: {error}\nits log is in {_OUT / name}", file=sys.stderr, flush=True)
            continue
        (FOLDER / f"{name}.json").write_text(dump_machine(captured))
        print(f"{name}: {len(captured['smartctl'])} disks", flush=True)
        shutil.rmtree(_OUT / name)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
