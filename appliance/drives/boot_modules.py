# SPDX-License-Identifier: Apache-2.0
"""Whether a measured boot would find a drive: the drivers it needs, and what the initrd has.

The initrd notes its modules when it starts (mkosi.images/initrd), and measured boots have the very
same initrd. Only reads; what cannot be known forbids nothing.
"""

from pathlib import Path

from appliance.sysfs import read_text

_SYS = Path("/sys")
_INITRD_MODULES = Path("/run/kaltstart.initrd-modules")


def find_missing_modules(drive_name: str) -> tuple[str, ...]:
    """Modules that drive `drive_name` (sda, nvme0n1) hangs on and the initrd lacks, sorted."""
    present = parse_modules(read_text(_INITRD_MODULES))
    return tuple(sorted(find_modules(drive_name) - present)) if present else ()


def find_modules(drive_name: str) -> frozenset[str]:
    """Loadable modules of all drivers between the drive and the processor; not what is built in."""
    device = (_SYS / "class/block" / drive_name).resolve()
    chain = [device, *device.parents]
    for folder in device.parents:
        # A drive of NVMe's own multipath hangs on a subsystem, which links to its controllers.
        if folder.name.startswith("nvme-subsys"):
            for controller in folder.glob("nvme*"):
                chain += controller.resolve().parents
    modules = (folder / "driver" / "module" for folder in chain)
    # Only a module that can be loaded has a state; one that is built in may have a folder, too.
    return frozenset(
        _normal(module.resolve().name) for module in modules if (module / "initstate").exists()
    )


def parse_modules(listing: str) -> frozenset[str]:
    """The modules in a list of files (`ls -R`), by the names the kernel gives them."""
    return frozenset(
        _normal(name)
        for line in listing.splitlines()
        for name, dot, _ in [line.strip().rpartition("/")[2].partition(".ko")]
        if dot
    )


def _normal(name: str) -> str:
    # A file's hyphens are underscores to the kernel (scripts/Makefile.lib, name-fix).
    return name.replace("-", "_")
