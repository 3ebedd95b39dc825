# SPDX-License-Identifier: Apache-2.0
"""Captures machines as the running image sees them: `python3 -m tests.lab.capture [NAME…]`.

Of `shapes.SHAPES` (or those that are named) all whose drives can be plugged in while a machine runs
share one, and each of the others is booted. Asks from inside (`inside.py`), and writes
tests/fixtures/machines/NAME.json. The last machine is left in build/captured.
"""

import argparse
import base64
import json
import shutil
import sys
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.lab.campaign import IMAGE, REPO
from tests.lab.drives import DriveBay, ModelledDrive
from tests.lab.foreign import make_foreign_images
from tests.lab.machine import Machine, MachineSetup
from tests.lab.plug import plug, unplug
from tests.lab.qmp import QmpError
from tests.lab.shapes import SHAPES, Shape
from tests.lab.stick import make_stick

FOLDER = REPO / "tests/fixtures/machines"
_OUT = REPO / "build/captured"
_TIMEOUT_S = 900
_POLL_S = 0.5
_TAIL = 2000
_INSIDE = Path(__file__).with_name("inside.py")
_AGENT = """\
until grep -q '"phase": "\\(idle\\|refused\\)"' /run/kaltstart/status.json; do sleep 1; done 2> /dev/null
cat > inside.py <<'EOF'
@INSIDE@
EOF
stty -F /dev/ttyS0 raw -echo
PATH=$PATH:/usr/sbin:/sbin exec python3 inside.py
"""  # noqa: E501 - shell
_SCSI = ModelledDrive(serial="HAS-THE-CONTROLLER", bus="scsi", size_bytes=1 << 20)


class CaptureError(Exception):
    """The machine could not be asked; what it said instead."""


def capture(name: str, image: Path) -> None:
    """Boot a machine of this shape, and write down what it says. Raises CaptureError."""
    shape = SHAPES[name]
    with (
        DriveBay([*shape.drives, *_foreign(shape)], folder=_OUT / "drives") as bay,
        _Session(image, shape, bay.attached(power_on=1)) as session,
    ):
        _write(name, session.look(shape, bay.drives), how=shape.firmware)


def capture_plugged(names: Sequence[str], image: Path) -> Iterator[str]:
    """Boot one machine, plug in the drives of each shape, one after the other.

    Yields what went wrong with one of them.
    """
    drives = {name: [*SHAPES[name].drives, *_foreign(SHAPES[name])] for name in names}
    everything = [_SCSI, *(drive for name in names for drive in drives[name])]
    with (
        DriveBay(everything, folder=_OUT / "drives") as bay,
        _Session(image, Shape(about=""), bay.attached(power_on=1)[:1]) as session,
    ):
        unplug(session.machine, bay.drives[0], bay.socket(bay.drives[0]))
        left = list(bay.drives[1:])
        for name in names:
            here, left = left[: len(drives[name])], left[len(drives[name]) :]
            plugged: list[ModelledDrive] = []
            try:
                session.look(Shape(about="nothing is left of the one before"), ())
                for drive in here:
                    plug(session.machine, drive, bay.socket(drive))
                    plugged.append(drive)
                _write(name, session.look(SHAPES[name], here), how="plugged in while it ran")
            except (CaptureError, QmpError) as error:
                yield f"{name}: {error}"
            if not SHAPES[name].is_last:
                for drive in plugged:
                    unplug(session.machine, drive, bay.socket(drive))


class _Session:
    """A machine that waits for the word to look. Raises CaptureError."""

    def __init__(
        self, image: Path, shape: Shape, drives: Sequence[tuple[ModelledDrive, Path]]
    ) -> None:
        script = _AGENT.replace("@INSIDE@", _INSIDE.read_text())
        self._sticks = 2 if shape.second_stick else 1
        self._told = _OUT / "told"
        self._told_lines = 0
        setup = MachineSetup(
            stick=make_stick(image, _OUT / "stick.raw"),
            second_stick=make_stick(image, _OUT / "stick-2.raw") if shape.second_stick else None,
            serial_log=_OUT / "serial.log",
            told=self._told,
            firmware=shape.firmware,
            agent=script,
        )
        self.machine = Machine(setup, drives=drives)

    def __enter__(self) -> Self:
        self.machine.__enter__()
        try:
            self._wait_for_answer()
        except BaseException:
            self.machine.kill()
            raise
        self._keyboard = self.machine.serial_line.keys.open("wb", buffering=0)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._keyboard.close()
        self.machine.__exit__(kind, error, traceback)

    def look(self, shape: Shape, drives: Sequence[ModelledDrive]) -> dict[str, Any]:
        """What the machine says of itself when it has found these drives, and no others."""
        disks = self._sticks + sum(drive.namespaces for drive in drives)
        request = {"disks": disks, "prepare": shape.prepare, "undo": shape.undo}
        packed = base64.b64encode(zlib.compress(json.dumps(request).encode()))
        self._keyboard.write(packed + b"\n")
        answer = self._wait_for_answer()
        if "captured" not in answer:
            raise CaptureError(answer["error"])
        found: dict[str, Any] = answer["captured"]
        return {"about": f"{shape.about} (QEMU 10.0, q35, {found.pop('version')})"} | found

    def _wait_for_answer(self) -> dict[str, Any]:
        deadline = time.monotonic() + _TIMEOUT_S
        while True:
            *lines, _ = self._told.read_bytes().split(b"\n") if self._told.exists() else [b""]
            if len(lines) > self._told_lines:
                self._told_lines += 1
                answer: dict[str, Any] = json.loads(
                    zlib.decompress(base64.b64decode(lines[self._told_lines - 1]))
                )
                return answer
            if not self.machine.is_on() or time.monotonic() > deadline:
                self.machine.poll()
                said = (_OUT / "qemu.err").read_text() + self.machine.text
                raise CaptureError(f"no answer; the last it said:\n{said[-_TAIL:]}")
            time.sleep(_POLL_S)


def _write(name: str, captured: dict[str, Any], *, how: str) -> None:
    captured["about"] = captured["about"].removesuffix(")") + f", {how})"
    (FOLDER / f"{name}.json").write_text(dump_machine(captured))
    print(f"{name}: {len(captured['smartctl'])} disks", flush=True)


def _foreign(shape: Shape) -> list[ModelledDrive]:
    if not shape.foreign:
        return []
    images = make_foreign_images(_OUT / "images")
    return [
        ModelledDrive(serial=name, bus="scsi", size_bytes=path.stat().st_size, file=path)
        for name, path in images.items()
    ]


def dump_machine(captured: Mapping[str, Any]) -> str:
    """The JSON of a machine, with a line for each device, file and answer. Pure."""
    parts = [f'"about": {_line(captured["about"])}']
    devices = ",\n".join(f"  {_line(device)}" for device in captured["lsblk"]["blockdevices"])
    parts.append(f'"lsblk": {{"blockdevices": [\n{devices}\n ]}}')
    for key in [key for key in ("links", "files", "smartctl", "reads") if key in captured]:
        lines = ",\n".join(
            f"  {_line(name)}: {_line(value)}" for name, value in sorted(captured[key].items())
        )
        parts.append(f'"{key}": {{\n{lines}\n }}')
    return "{\n " + ",\n ".join(parts) + "\n}\n"


def _line(value: object) -> str:
    return json.dumps(value)


def main() -> int:
    """Capture the named machines, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(SHAPES))
    parser.add_argument("--image", type=Path, default=IMAGE)
    arguments = parser.parse_args()
    unknown = sorted(set(arguments.names) - set(SHAPES))
    if unknown:
        parser.error(f"no machine {unknown[0]!r}; there are {', '.join(SHAPES)}")
    names = arguments.names or list(SHAPES)
    hot = sorted((n for n in names if SHAPES[n].is_hot), key=lambda n: SHAPES[n].is_last)
    problems: list[str] = []
    for each in ([hot] if hot else []) + [[name] for name in names if name not in hot]:
        shutil.rmtree(_OUT, ignore_errors=True)
        _OUT.mkdir(parents=True)
        try:
            if each is hot:
                problems += capture_plugged(hot, arguments.image)
            else:
                capture(each[0], arguments.image)
        except CaptureError as error:
            problems.append(f"{', '.join(each)}: {error}")
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
