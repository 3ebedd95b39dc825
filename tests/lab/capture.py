"""Captures machines as the running image sees them: `python3 -m tests.lab.capture [NAME…]`.

Of `shapes.SHAPES` (or those that are named) all whose drives can be plugged in while a machine runs
share one, and each of the others is booted. Asks from inside (`inside.py`), and writes
tests/fixtures/machines/NAME.json. What went wrong is in build/captured.
"""

import argparse
import base64
import json
import shutil
import socket
import sys
import threading
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.lab.agent import credentials, listen
from tests.lab.campaign import IMAGE, REPO
from tests.lab.drives import DriveBay, ModelledDrive
from tests.lab.foreign import make_foreign_images
from tests.lab.machine import Machine, MachineSetup
from tests.lab.plug import plug, unplug
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
cat > inside.py <<'EOF'
@INSIDE@
EOF
PATH=$PATH:/usr/sbin:/sbin
look() {
  say version "$(. /usr/lib/os-release; echo "$VERSION_ID $IMAGE_VERSION, Linux $(uname -r)")"
  eval "$(base64 -d <<< "$1")"
  udevadm settle --timeout=20
  if ! python3 inside.py > out.txt 2>&1; then
    local n=0; while read -r line; do say failed-$((++n)) "$line"; done < out.txt
  fi
  eval "$(base64 -d <<< "$2")"
  say end
}
stty -F /dev/ttyS0 raw -echo
exec 3< /dev/ttyS0
say end
while read -r prepare undo <&3; do look "$prepare" "$undo"; done
"""  # noqa: E501 - shell
_SCSI = ModelledDrive(serial="HAS-THE-CONTROLLER", bus="scsi", size_bytes=1 << 20)


def capture(name: str, image: Path) -> None:
    """Boot a machine of this shape, and write down what it says."""
    shape = SHAPES[name]
    with (
        DriveBay([*shape.drives, *_foreign(shape)], folder=_OUT / "drives") as bay,
        _Session(image, shape, bay.attached(power_on=1)) as session,
    ):
        _write(name, session.look(shape), how=shape.firmware)


def capture_plugged(names: Sequence[str], image: Path) -> None:
    """Boot one machine, and plug in the drives of each shape, one after the other."""
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
            for drive in here:
                plug(session.machine, drive, bay.socket(drive))
            _write(name, session.look(SHAPES[name]), how="plugged in while it ran")
            if not SHAPES[name].is_last:
                for drive in here:
                    unplug(session.machine, drive, bay.socket(drive))


class CaptureError(Exception):
    """The machine could not be asked; what it said instead."""


class _Session:
    """A machine that waits to be told when to look. Raises LabTimeoutError, CaptureError."""

    def __init__(
        self, image: Path, shape: Shape, drives: Sequence[tuple[ModelledDrive, Path]]
    ) -> None:
        script = _AGENT.replace("@INSIDE@", _INSIDE.read_text())
        setup = MachineSetup(
            stick=make_stick(image, _OUT / "stick.raw"),
            second_stick=make_stick(image, _OUT / "stick-2.raw") if shape.second_stick else None,
            serial_log=_OUT / "serial.log",
            firmware=shape.firmware,
            credentials=credentials(script) | _NO_TUI,
        )
        self.machine = Machine(setup, drives=drives)

    def __enter__(self) -> Self:
        self.machine.__enter__()
        try:
            listen(self.machine, timeout_s=_TIMEOUT_S)
        except BaseException:
            self.machine.kill()
            raise
        self._keyboard = socket.socket(socket.AF_UNIX)
        self._keyboard.connect(str(self.machine.serial_socket))
        # Where nobody takes what comes out, the machine's serial line stands still.
        threading.Thread(target=_drain, args=(self._keyboard,), daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._keyboard.close()
        self.machine.__exit__(kind, error, traceback)

    def look(self, shape: Shape) -> dict[str, Any]:
        """What the machine says of itself now, when what the shape asks for has been done."""
        scripts = (base64.b64encode((text or ":").encode()) for text in (shape.prepare, shape.undo))
        self._keyboard.sendall(b" ".join(scripts) + b"\n")
        said = listen(self.machine, timeout_s=_TIMEOUT_S)
        if "pieces" not in said:
            raise CaptureError("\n".join(f"{key} {text}" for key, text in said.items()))
        packed = "".join(said[f"piece-{n}"] for n in range(int(said["pieces"])))
        found: dict[str, Any] = json.loads(zlib.decompress(base64.b64decode(packed)))
        return {"about": f"{shape.about} (QEMU 10.0, q35, {said['version']})"} | found


def _drain(connection: socket.socket) -> None:
    with suppress(OSError):  # it is closed here, or there
        while connection.recv(1 << 16):
            pass


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
    for each in ([hot] if hot else []) + [[name] for name in names if name not in hot]:
        shutil.rmtree(_OUT, ignore_errors=True)
        _OUT.mkdir(parents=True)
        if each is hot:
            capture_plugged(hot, arguments.image)
        else:
            capture(each[0], arguments.image)
    shutil.rmtree(_OUT)
    return 0


if __name__ == "__main__":
    sys.exit(main())
