# SPDX-License-Identifier: Apache-2.0
"""Whatever happens in whichever order: no foreign drive is written, nothing is lost, it ends."""

import os
from collections.abc import Sequence
from itertools import count
from random import Random

import pytest

from tests.unit.campaign.world import World
from tests.unit.service.any_order import AnyOrder

_DRIVES = """
version = 1
[campaign]
at_once = {at_once}
on_finish = "{on_finish}"
[[drive]]
serial = "A"
erase = "A"
[[drive]]
serial = "B"
erase = "B"
model = "hdd"
size = 4000000000
"""
_STEPS = """
[[workload]]
kind = "lottery"
filesystem = "ext4"
on = ["A", "B"]
[[workload]]
kind = "verify"
power_cycle = true
on = ["A", "B"]
"""
_C_IS_READ = """
[[drive]]
serial = "C"
"""
_SURFACES = """
[[workload]]
kind = "surface"
"""
_BOOTS = """
[boot]
boot_set = "8M"
cycles = 2
charts = "none"
wake_margin = 60
power = ["cold", "warm"]
"""
_REPLAYS = """
[boot]
mode = "replay"
boot_set = "1M"
cycles = 2
wake_margin = 60
"""
_INSTALLED = """
version = 1
[[drive]]
serial = "A"
start = "A"
[[drive]]
serial = "B"
start = "B"
model = "hdd"
size = 4000000000
[[drive]]
serial = "C"
start = "C"
[boot]
path = "installed"
cycles = 2
wake_margin = 60
power = ["cold", "warm"]
[[workload]]
kind = "surface"
"""
_ARRAY = """
version = 1
[campaign]
at_once = {at_once}
on_finish = "{on_finish}"
[[drive]]
serial = "A"
role = "backing"
erase = "A"
[[drive]]
serial = "B"
role = "cache"
erase = "B"
model = "hdd"
size = 4000000000
[array]
"""
_ARRAY_STEPS = """
[[workload]]
kind = "lottery"
filesystem = "ext4"
on = "array"
[[workload]]
kind = "lottery"
filesystem = "ext4"
on = "B"
[[workload]]
kind = "fio"
tests = ["seq-write"]
on = "array"
[[workload]]
kind = "verify"
power_cycle = true
on = ["A", "B"]
"""
_EDITED = """
version = 1
[campaign]
autostart = true
[[drive]]
serial = "C"
erase = "C"
[[workload]]
kind = "lottery"
filesystem = "ext4"
[[workload]]
kind = "verify"
power_cycle = true
"""
_EDITED_ARRAY = """
version = 1
[campaign]
autostart = true
[[drive]]
serial = "C"
role = "backing"
erase = "C"
[[drive]]
serial = "A"
role = "cache"
erase = "A"
[array]
[[workload]]
kind = "lottery"
filesystem = "ext4"
on = "array"
[[workload]]
kind = "verify"
on = "A"
"""
_ACTS = (
    *("cut", "cut", "cut", "cut", "bug", "stick", "fail", "key", "entry-stays", "names", "dock"),
    *("full 1", "full 2", "full 9", "late 1", "late 2"),
    *("power-key", "power-key", "edit", "edit", "come-late A", "come-late B"),
    *("vanish A", "return A", "vanish B", "return B", "vanish C", "return C"),
    *("stop", "stop", "pause", "pause", "keep-running", "resume", "resume", "resume"),
    *("pause-drive 1 now", "pause-drive 1 later", "resume-drive 1"),
    *("pause-drive 2 now", "resume-drive 2", "pause-drive 3 later"),
    *(f"skip-step {number}" for number in range(1, 8)),
)
_PLACES = (
    *("", "", "", "unlock", "clear", "mark", "marked", "mkfs", "install", "installed", "root"),
    *("prepare", "one", "two", "write", "read", "read-cold", "power cycles", "cut_power"),
    *("replay", "replayed", "own system", "own report", "arm_installed"),
    *("arm_alarm", "arm_entry", "clear_alarm", "health", "report", "KALTSTART", "COMMIT"),
)
_HARMLESS = {
    *("cut", "kill", "key", "power-key", "entry-stays", "names"),
    *("stop", "pause", "keep-running", "resume", "pause-drive", "resume-drive", "skip-step"),
}
"""No step fails of these."""
_ARRAY_ACTS = (*_ACTS, "kill", "kill", "take-apart", "take-apart", "cut", "cut")
_QUIET_ACTS = tuple(act for act in _ARRAY_ACTS if act.split()[0] in _HARMLESS)
_ARRAY_PLACES = (
    *_PLACES,
    *("bcache register", "bcache attach", "bcache label", "bcache detach", "bcache stop", "bcache"),
    *("make-bcache", "made -C", "made -B", "mark", "clear"),
)
_MOMENTS = (0, 0, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89)
_STARTS = 80
_SEEDS = range(*map(int, os.environ.get("KALTSTART_SEEDS", "0:5").split(":")))


def make_script(
    random: Random, *, places: Sequence[str] = _PLACES, acts: Sequence[str] = _ACTS
) -> list[tuple[int, str, str]]:
    return [
        (random.choice(_MOMENTS), random.choice(places), random.choice(acts))
        for _ in range(random.randrange(1, 25))
    ]


def make_plan(*, at_once: int = 1, boots: str = "", on_finish: str = "tui") -> str:
    drives = _DRIVES.format(at_once=at_once, on_finish=on_finish)
    return drives + (boots + _STEPS if boots else _C_IS_READ + _STEPS + _SURFACES)


def run_to_its_end(order: AnyOrder) -> None:
    """A person starts the campaign, and resumes it whenever it waits for that.

    At the end the machine is started again, where nothing begins that is not new.
    """
    order.request = "start"
    ended: list[str] = []
    for starts in count():
        end, states = order.start(), order.states()
        assert starts < _STARTS, "it goes on for ever"
        if end != "idle":
            continue
        assert {*states} <= {"paused", "done"}, "it neither goes on nor waits for a person"
        if {*states} == {"done"}:
            if states == ended:
                return
            ended = states
        else:
            order.request = "resume" if states else "start"
        for each in order.media.disks:
            each.is_here = each.serial != "D"


def check(order: AnyOrder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("appliance.reference_os.install.root_bytes", lambda: 600_000_000)
    order.take_over(monkeypatch)
    run_to_its_end(order)
    if order.happened <= _HARMLESS:
        order.faults.extend(f"a step has failed: {reason}" for reason in order.find_failed())
    order.faults.extend(f"the replay of {boot_id} is lost" for boot_id in order.find_lost())
    assert not order.faults, "\n".join((*order.media.log, *order.faults))


@pytest.mark.parametrize(
    "boots",
    ["", _BOOTS, _REPLAYS, _INSTALLED],
    ids=["steps", "boots", "replays", "own systems"],
)
@pytest.mark.parametrize("seed", _SEEDS)
def test_no_order_of_events_harms_a_drive_or_a_sample(
    world: World, monkeypatch: pytest.MonkeyPatch, seed: int, boots: str
) -> None:
    random = Random(seed)
    on_finish = random.choice(("tui", "reboot", "poweroff"))
    plan = make_plan(at_once=random.choice((1, 1, 2)), boots=boots, on_finish=on_finish)
    if boots == _INSTALLED:
        plan = _INSTALLED
        world.own_loaders = dict.fromkeys(("/dev/sda", "/dev/sdb", "/dev/sdd"), "/EFI/a.efi")
    order = AnyOrder(world, plan, iter(make_script(random)), _EDITED)
    order.media.answers = random.random() < 0.5
    if boots != _INSTALLED and random.random() < 0.3:
        world.firmware, world.keeps_mark = "bios", random.random() < 0.5
    elif random.random() < 0.5:
        (world.path.parent / "efivars").mkdir()
    check(order, monkeypatch)


@pytest.mark.parametrize("seed", _SEEDS)
def test_no_order_of_events_harms_an_array(
    world: World, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    random = Random(seed)
    on_finish = random.choice(("tui", "reboot", "poweroff"))
    drives = _ARRAY.format(at_once=random.choice((1, 2)), on_finish=on_finish)
    plan = drives + random.choice((_C_IS_READ + _SURFACES, _C_IS_READ + _SURFACES, _BOOTS))
    plan += _ARRAY_STEPS
    acts = _ARRAY_ACTS if random.random() < 0.5 else _QUIET_ACTS
    script = make_script(random, places=_ARRAY_PLACES, acts=acts)
    order = AnyOrder(world, plan, iter(script), _EDITED_ARRAY)
    order.media.answers = random.random() < 0.5
    check(order, monkeypatch)


@pytest.mark.parametrize(
    ("boots", "script"),
    [
        ("", [(0, "power cycles", "pause")]),
        ("", [(0, "read-cold", "keep-running"), (0, "marked", "cut")]),
        (_BOOTS, [(0, "root", "late 2")]),
    ],
)
def test_what_was_found_in_this_way_stays_found(
    world: World, monkeypatch: pytest.MonkeyPatch, boots: str, script: list[tuple[int, str, str]]
) -> None:
    """A granted pause, then a power-off; a mark over bytes that were then read again.

    A way back from a boot that was not counted.
    """
    check(AnyOrder(world, make_plan(boots=boots), iter(script)), monkeypatch)


_TROUBLES = ("full 1", "full 9", "late 1")


@pytest.mark.parametrize("trouble", _TROUBLES)
def test_no_replay_is_made_again_because_the_database_did_not_accept_it(
    world: World, monkeypatch: pytest.MonkeyPatch, trouble: str
) -> None:
    order = AnyOrder(world, make_plan(boots=_REPLAYS), iter([(0, "replayed", trouble)]))
    check(order, monkeypatch)
    assert order.replays == 4


@pytest.mark.parametrize("trouble", _TROUBLES[1:])
@pytest.mark.parametrize("moments", [*range(8), 10, 13, 21, 34])
def test_a_replay_that_is_kept_is_stored_once_whenever_power_fails(
    world: World, monkeypatch: pytest.MonkeyPatch, moments: int, trouble: str
) -> None:
    script = [(0, "replayed", trouble), (moments, "", "cut")]
    order = AnyOrder(world, make_plan(boots=_REPLAYS), iter(script))
    check(order, monkeypatch)
    assert "cut" in order.happened
