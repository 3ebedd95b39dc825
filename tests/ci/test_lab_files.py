# SPDX-License-Identifier: Apache-2.0
"""The files that ci/lab is named: each is handed in as itself, or refused by its name; its end.

A script that writes down its arguments takes the toolbox's place.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.lab.__main__ import _stop, _sum_up
from tests.lab.campaign import REPO, Result

_TOOLBOX = """\
#!/bin/bash
given=../given
mkdir $given
printf '%s\n' "$@" > $given/words
shift 4
while [ $# != 0 ]; do
  case $1 in
    --plan | --drives | --image) cp "$2" "$given/${1#--}" ;;
    --out) mkdir -p "$2/report" && echo said > "$2/serial.log" && echo page > "$2/report/page" ;;
  esac
  shift 2
done
[ ! -e $given/drives ] || sed -nE 's/^ *file *= *"([^"]*)".*/\\1/p' $given/drives |
  while read -r held; do cat "$held"; echo; done
"""


@dataclass(frozen=True, slots=True)
class _Desk:
    """A copy of the command with another toolbox, in a folder that the real toolbox cannot see."""

    folder: Path

    def run(self, *words: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.folder / "repository/ci/lab", *words],
            cwd=cwd or self.folder,
            env=os.environ | {"PYTHONPATH": str(REPO)},
            check=False,
            capture_output=True,
            text=True,
        )

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def given(self, name: str) -> str:
        return (self.folder / "given" / name).read_text()

    @property
    def options(self) -> dict[str, str]:
        words = self.given("words").splitlines()[4:]
        return dict(zip(words[::2], words[1::2], strict=True))


@pytest.fixture
def desk() -> Iterator[_Desk]:
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="a desk-") as name:
        folder = Path(name)
        commands = folder / "repository/ci"
        commands.mkdir(parents=True)
        shutil.copy(REPO / "ci/lab", commands)
        _put_toolbox(folder, _TOOLBOX)
        yield _Desk(folder)


def _put_toolbox(folder: Path, text: str) -> None:
    toolbox = folder / "repository/ci/toolbox"
    toolbox.write_text(text)
    toolbox.chmod(0o755)


@pytest.fixture
def real(desk: _Desk) -> _Desk:
    """With the real lab behind the command, which ends before it starts anything."""
    _put_toolbox(desk.folder, f'#!/bin/sh\nshift 2\nexec {sys.executable} "$@"\n')
    return desk


def test_two_files_of_one_name_are_two_files(desk: _Desk) -> None:
    plan, drives = desk.write("a/x.toml", "the plan"), desk.write("b/x.toml", "the drives")
    image = desk.write("c/x.toml", "the image")
    done = desk.run("--plan", plan, "--drives", drives, "--image", image)
    assert done.returncode == 0, done.stderr
    given = [desk.given(name).rstrip("\n") for name in ("plan", "drives", "image")]
    assert given == ["the plan", "the drives", "the image"]
    shown = desk.options
    assert (shown["--shown-plan"], shown["--shown-drives"]) == (str(plan), str(drives))


def test_names_are_relative_to_where_one_stands_and_may_follow_an_equals_sign(desk: _Desk) -> None:
    desk.write("my plans/x.toml", "the plan")
    desk.write("my plans/deep/x.toml", "the drives")
    done = desk.run(
        "--plan=../x.toml", "--drives", "x.toml", "--out=../my results",
        cwd=desk.folder / "my plans/deep",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (desk.given("plan"), desk.given("drives")) == ("the plan", "the drives\n")
    out = desk.folder / "my plans/my results"
    assert desk.options["--shown-out"] == str(out)
    assert desk.options["--again"].endswith(r" --drives x.toml --out=../my\ results")
    assert (out / "serial.log").read_text() == "said\n"
    assert (out / "report/page").read_text() == "page\n"
    assert not Path(desk.options["--out"]).parent.exists(), "what was handed in has been left"


def test_what_the_drives_hold_is_handed_in_from_wherever_it_lies(desk: _Desk) -> None:
    plan = desk.write("x.toml", "the plan")
    held = [
        desk.write("b/held/a disk.raw", "beside"),
        desk.write("disk.raw", "above"),
        desk.write("far/disk.raw", "far away"),
    ]
    text = f"""\
[[drive]]
file = "held/a disk.raw"  # "beside"
[[drive]]
  file='../disk.raw'
[[drive]]
file = "{held[2]}"
[[drive]]
product = "file = 1\""""
    done = desk.run("--plan", plan, "--drives", desk.write("b/x.toml", text))
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["beside", "above", "far away"]
    # Line by line, so that a mistake is reported with its line.
    before, after = text.splitlines(), desk.given("drives").splitlines()
    assert [line for line in after if "file" not in line] == [
        line for line in before if "file" not in line
    ]
    assert after[1].endswith('"  # "beside"')
    assert after[-1] == before[-1]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--plan", "no such.toml"), "no such.toml: there is no such file"),
        (("--plan", "x.toml", "--drives", "b"), "b is a folder, not a file"),
        (("--plan", "x.toml", "--drives", "none.toml"), "none.toml: there is no such file"),
        (("--plan", "x.toml", "--drives", "b/x.toml"), "b/gone.raw: there is no such file"),
        (("--plan", "x.toml", "--image", "none.raw"), "none.raw: there is no such file"),
        (("--plan",), "--plan needs a name behind it"),
        (("--plan", "x.toml", "--out", "b"), "b holds something else"),
    ],
)
def test_what_is_not_there_is_refused_by_its_name(
    desk: _Desk, words: tuple[str, ...], said: str
) -> None:
    desk.write("x.toml", "the plan")
    desk.write("b/x.toml", 'file = "gone.raw"')
    done = desk.run(*words)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("lab: ")
    assert said in line
    assert "kaltlab-in" not in line
    assert not (desk.folder / "given").exists()


@pytest.mark.parametrize(
    ("drives", "said"),
    [
        ("[[drive]\n", "b/x.toml: not TOML: "),
        ("[[drive]]\ncolour = 1\n", "b/x.toml: drive 1: unknown key 'colour'"),
        ('[[drive]]\nserial = "A"\nfile = """gone.raw"""\n', "b/x.toml: drive A: there is no file"),
        ("[stick]\nport = 1\n", "b/x.toml: stick: port = 1 is none of"),
        ("# \udcff\n", "b/x.toml: 'utf-8' codec can't decode"),
    ],
)
def test_a_mistake_is_told_with_the_name_of_the_right_file(
    real: _Desk, drives: str, said: str
) -> None:
    plan = real.write("a/x.toml", "version = 1\n")
    file = real.write("b/x.toml", "")
    file.write_bytes(drives.encode(errors="surrogateescape"))
    done = real.run("--plan", plan, "--drives", "b/x.toml")
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith(f"lab: {said}"), done.stderr


def test_a_plan_that_is_no_text_is_told_by_its_name(real: _Desk) -> None:
    plan = real.write("a/x.toml", "")
    plan.write_bytes(b"\xff")
    done = real.run("--plan", plan, "--drives", real.write("b/x.toml", '[[drive]]\nserial="A"'))
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith(f"lab: {plan}: 'utf-8' codec"), done.stderr


def test_a_refused_plan_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    result = Result(Path("out"), outcome="refused", reason="line 4: unknown key")
    _sum_up(result, plan=Path("a/x.toml"), out=Path("out"), again="ci/lab")
    said = capsys.readouterr().out
    assert "lab: FAILED: refused: line 4: unknown key" in said
    assert "lab: plan: a/x.toml" in said


# Only a lab that hears nothing of the signal waits so long.
_PATIENCE_S = 60
# It dies of a signal, as bubblewrap does, and takes the lab with it.
_MORTAL_TOOLBOX = """\
#!/bin/sh
shift 4
setpriv --pdeathsig KILL %s -c '
import os, pathlib, signal, sys
options = dict(zip(sys.argv[1::2], sys.argv[2::2]))
out = pathlib.Path(options["--out"])
out.mkdir(parents=True)
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
if "--pid-file" in options:
    pathlib.Path(options["--pid-file"]).write_text(str(os.getpid()))
print("on", flush=True)
if signal.sigtimedwait({signal.SIGINT, signal.SIGTERM}, %d):
    (out / "kaltstart.sqlite").write_text("the samples so far")
sys.exit(130)
' "$@"
"""


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("to_all", [False, True], ids=["to-it-alone", "to-its-group"])
def test_a_signal_leaves_the_database_where_one_looks_for_it(
    desk: _Desk, signum: signal.Signals, *, to_all: bool
) -> None:
    """A terminal and `timeout` send it to the whole group, `kill` to the command alone."""
    _put_toolbox(desk.folder, _MORTAL_TOOLBOX % (sys.executable, _PATIENCE_S))
    plan = desk.write("x.toml", "the plan")
    words: list[str | Path] = [desk.folder / "repository/ci/lab", "--plan", plan]
    with subprocess.Popen(
        # A shell cannot trap what was ignored when it began, as SIGINT is in a background job.
        ["env", "--default-signal=INT,TERM,HUP", *words, "--out", desk.folder / "results"],
        stdout=subprocess.PIPE,
        start_new_session=True,
    ) as lab:
        assert lab.stdout is not None
        assert lab.stdout.readline() == b"on\n"
        (os.killpg if to_all else os.kill)(lab.pid, signum)
    assert lab.returncode == 130
    assert (desk.folder / "results/kaltstart.sqlite").read_text() == "the samples so far"


def test_after_a_signal_nothing_stops_the_copying(monkeypatch: pytest.MonkeyPatch) -> None:
    handled: dict[int, object] = {}
    monkeypatch.setattr(signal, "signal", handled.__setitem__)
    with pytest.raises(KeyboardInterrupt):
        _stop(signal.SIGTERM, None)
    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    assert handled == dict.fromkeys(signals, signal.SIG_IGN)
