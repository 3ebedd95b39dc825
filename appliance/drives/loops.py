# SPDX-License-Identifier: Apache-2.0
"""Loop devices on drives, the one kind of stacking that no `holders/` in /sys shows.

A loop device opens its backing device as any program would: lsblk does not list it below its drive,
and an exclusive opening of the drive is granted beside it (loop_configure in drivers/block/loop.c).
Reads /sys, and sends nothing to a drive.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from appliance import sysfs
from appliance.errors import StepFailedError
from appliance.phrases import N_, Phrase

type _Node = dict[str, Any]

# What the kernel adds to the path of a node that was removed since (d_path in fs/d_path.c).
_DELETED = " (deleted)"


def read_loops(*, sys: Path = Path("/sys")) -> dict[str, str]:
    """The name of the backing device, by the kernel name of each loop device over a device node.

    Those over files are left out: their file system is mounted, which shows anyway.
    """
    backing_names = {}
    for loop in sorted((sys / "block").glob("loop*")):
        backing = sysfs.read_text(loop / "loop/backing_file").removesuffix(_DELETED)
        # The last /dev: a node that was opened inside another root counts too. In /sys a slash in
        # a kernel name is an exclamation mark.
        _, is_node, name = backing.rpartition("/dev/")
        if is_node:
            backing_names[loop.name] = name.replace("/", "!")
    return backing_names


def find_loops_over(name: str, *, sys: Path = Path("/sys")) -> tuple[str, ...]:
    """Loop devices over the disk with this kernel name, or over one of its partitions."""
    return tuple(
        loop
        for loop, backing in read_loops(sys=sys).items()
        if backing == name or (sys / "block" / name / backing).is_dir()
    )


def hang_loops(text: str, loops: Mapping[str, str]) -> str:
    """Lsblk's JSON with each of `loops` below its backing device. Pure. Raises StepFailedError.

    Whatever lies on a loop device so lies on its drive: mounts, swap space, file systems.
    """
    if not loops:
        return text
    try:
        listed = json.loads(text)
        # A tree names a device once below each of its parents.
        named: dict[str, list[_Node]] = {}
        for node in walk_nodes(listed["blockdevices"]):
            named.setdefault(node["kname"], []).append(node)
        hung = {loop for loop, backing in loops.items() if loop in named and backing in named}
        for loop in hung:
            for node in named[loops[loop]]:
                node.setdefault("children", []).append(named[loop][0])
        top = [node for node in listed["blockdevices"] if node["kname"] not in hung]
    except (KeyError, TypeError, ValueError) as error:
        raise StepFailedError(
            Phrase(N_("lsblk gave no usable list of drives: {error}"), error=f"{error!r}")
        ) from error
    return json.dumps(listed | {"blockdevices": top})


def walk_nodes(nodes: Iterable[_Node]) -> Iterator[_Node]:
    """Nodes of lsblk's tree, each before all that is below it."""
    for node in nodes:
        yield node
        yield from walk_nodes(node.get("children") or ())
