# SPDX-License-Identifier: Apache-2.0
"""What `ci/screens` takes pictures of: the plans it needs for that, and the keys to each scene."""

from dataclasses import dataclass

# Something of each kind of result, on the SSD alone, which is quick; the others are in the list.
FINISHED = """\
version = 1
[campaign]
name = "Pictures of every page"
autostart = true
on_finish = "poweroff"
[[drive]]
serial = "LAB-SSD-1"
erase = "LAB-SSD-1"
[boot]
cycles = 2
power = "cold"
boot_set = "4M"
charts = "none"
wake_margin = 60
[[workload]]
kind = "fio"
filesystem = "ext4"
size = "8M"
runtime = 2
tests = ["seq-read", "rand-read"]
page_cache = "bypass"
[[workload]]
kind = "lottery"
file_size = "4M"
passes = ["cold", "warm", "direct"]
"""
# Each test of a sweep takes its whole time, and can be looked at twice; fio ends with its file.
RUNNING = """\
version = 1
[campaign]
name = "In the middle of a step"
[[drive]]
serial = "LAB-SSD-1"
erase = "LAB-SSD-1"
[[drive]]
serial = "LAB-HDD-1"
[[workload]]
kind = "sweep"
on = "LAB-SSD-1"
filesystem = "ext4"
set_sizes = ["8M"]
tests = ["rand-read", "seq-read"]
norandommap = [true]
runtime = 600
idle_timeout = 0
"""
# It writes, so the drive must be released.
SAVED_PLAN = """\
version = 1
[campaign]
name = "Pictures"
[[drive]]
serial = "LAB-SSD-1"
[[workload]]
kind = "verify"
size = "16M"
"""


@dataclass(frozen=True, slots=True)
class Scene:
    """What is photographed: the keys that lead there, and those that lead back."""

    name: str
    keys: tuple[str, ...]
    back: tuple[str, ...] = ()
    rest_s: int = 1
    """How long it takes at most until what a key leads to is there."""


# None of them asks for more than to be shown: each question is left by Escape.
SCENES = (
    Scene("drives", ("1",)),
    Scene("drives-details", ("d",), ("Escape",)),
    Scene("drives-inspect", ("i",), ("Escape",)),
    Scene("plan", ("2",)),
    Scene("plan-start", ("s",), ("Escape",)),
    Scene("plan-compose", ("n",), ("Escape",)),
    Scene("plan-compose-array", ("n", "a", "Down", "a"), rest_s=4),
    Scene("plan-array", ("Tab", "Tab", "Enter"), ("Escape", "Escape"), rest_s=4),
    Scene("plan-more-settings", ("n", "F5"), ("Escape",), rest_s=4),
    # Over the name and boot timing, which is left out, to the first of the other tests.
    Scene(
        "plan-keys", ("Tab", "Tab", "Space", "Tab", "Space", "F6"), ("Escape", "Escape"), rest_s=4
    ),
    Scene("plan-saved", ("l",)),
    # The first plan to be checked brings the checks into memory.
    Scene("plan-saved-one", ("Enter",), rest_s=15),
    Scene("plan-release", ("Tab", "Enter"), ("Escape",), rest_s=4),
    Scene("plan-saved-delete", ("l", "Enter", "Tab", "Tab", "Tab", "Enter"), ("Escape",), rest_s=4),
    Scene("plan-adjust", ("l", "Enter", "Tab", "Tab", "Enter"), rest_s=4),
    Scene("plan-keep-again", ("F3",), ("Escape", "Escape"), rest_s=4),
    Scene("plan-templates", ("t",), ("Escape",)),
    Scene("plan-times", ("F2",), ("Escape",)),
    Scene("run", ("3",)),
    Scene("results", ("4",)),
    Scene("results-raw", ("Enter",)),
    Scene("results-raw-read", ("Enter",), ("Escape", "Escape")),
    Scene("results-end", ("Tab", "End"), ("Home", "Tab")),
    Scene("machine", ("5",)),
    Scene("machine-keyboard", ("k",), ("Escape",)),
    Scene("machine-language", ("l",), ("Escape",)),
    Scene("machine-time", ("t",), ("Escape",)),
    Scene("machine-shell", ("x",), ("Escape",)),
    # On a page without a clock: its next minute would be taken for what the key led to.
    Scene("help", ("1", "F1"), rest_s=4),
    # The box before it goes first; then its text is brought into memory.
    Scene("manual", ("m",), rest_s=15),
    Scene("manual-chapter", ("Down", "Enter"), ("Escape", "Escape")),
    Scene("power", ("p",), ("Escape",)),
)
