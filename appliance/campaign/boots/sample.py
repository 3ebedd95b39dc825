# SPDX-License-Identifier: Apache-2.0
"""The sample of a measured boot: systemd's times, the session set, and what the disk had read.

Does nothing but measure; runs from the drive under test.
"""

from contextlib import suppress
from pathlib import Path

from appliance.campaign.host import Clock, Host
from appliance.errors import KaltstartError, StepFailedError, blame_of, blaming
from appliance.phrases import N_, Phrase
from appliance.reference_os.install import esp_partuuid, mount_session_set, root_partuuid
from appliance.reference_os.session_set import read_session_set
from appliance.run import run
from appliance.samples.diskstats import DiskStats, parse_stat
from appliance.samples.kernel_errors import find_kernel_names, read_kernel_errors
from appliance.samples.startup import PROPERTIES, Startup, parse_startup
from appliance.samples.temperature import find_sensor, read_cpu_celsius
from appliance.samples.unit_times import UNIT_PROPERTIES, UnitTime, parse_unit_times
from appliance.store.tables.boots import BootSample

_FINISH_TIMEOUT_S = 1800
_QUIET_S = 1.0
_QUIET_TIMEOUT_S = 10.0
_POLL_S = 0.2
_UNITS_TIMEOUT_S = 120
_BY_PARTUUID = Path("/dev/disk/by-partuuid")
_DEVICES = Path("/sys/dev/block")
_BLOCKS = Path("/sys/class/block")
# A link to /dev/block/MAJOR:MINOR: what the root was mounted from before systemd laid an overlay in
# RAM over it, where nothing else shows it any more. run() in src/volatile-root/volatile-root.c.
_MOUNTED_ROOT = Path("/run/systemd/volatile-root")


def take_sample(host: Host, slot: int) -> BootSample:
    """What this boot took, in all its parts, the session set read at its end.

    Raises StepFailedError.
    """
    clock = host.clock
    disk = find_root_disk(slot)
    startup = _wait_for_startup()
    from_s = clock.monotonic_s()
    try:
        read_session_set(mount_session_set(f"/dev/{disk}"))
        session_s = clock.monotonic_s() - from_s
        stats = _read_stats(disk)
        io_quiet_s = _wait_for_quiet(disk, clock)
    except (OSError, ValueError) as error:
        raise StepFailedError(
            Phrase(
                N_("the session set on /dev/{disk} cannot be read: {error}"), disk=disk, error=error
            ),
            blame=blame_of(error) if isinstance(error, OSError) else "drive",
        ) from error
    blocks = _list_blocks(disk)
    _load_sensors()
    sensors = (find_sensor(block) for block in blocks)
    warm = [sensor.read_celsius() for sensor in sensors if sensor is not None]
    return BootSample(
        boot_id=host.this_boot.boot_id,
        boot_s=startup.finish_s + session_s,
        firmware_s=startup.firmware_s,
        loader_s=startup.loader_s,
        kernel_s=startup.kernel_s,
        initrd_s=startup.initrd_s,
        userspace_s=startup.userspace_s,
        session_s=session_s,
        io_quiet_s=io_quiet_s,
        read_bytes=stats.read_bytes,
        read_ios=stats.read_ios,
        wake_skew_s=None,
        drive_celsius=max((celsius for celsius in warm if celsius is not None), default=None),
        cpu_celsius=read_cpu_celsius(),
        kernel_errors=read_kernel_errors(
            [name for block in blocks for name in find_kernel_names(block)]
        ),
        session_wait_s=from_s - startup.finish_s,
        path="drive" if host.this_boot.esp_partuuid == esp_partuuid(slot) else "stick",
    )


def _load_sensors() -> None:
    # Only after the boot: neither this nor what it asks of the drive may be in the times.
    with suppress(KaltstartError):  # a sample without a temperature is one
        run(["modprobe", "--quiet", "drivetemp"], check=False)


def _list_blocks(disk: str) -> tuple[Path, ...]:
    """The disk in /sys; of an array what it is made of as well."""
    block = _BLOCKS / disk
    return block, *sorted(_BLOCKS / part.name for part in block.glob("slaves/*"))


def find_root_disk(slot: int) -> str:
    """Kernel name of the disk this boot's root was mounted from.

    Raises StepFailedError where it is not known, or where the root's UUID leads to another one by
    now: two carry it then, and which one is mounted is a matter of chance.
    """
    try:
        mounted = (_DEVICES / _MOUNTED_ROOT.readlink().name).resolve(strict=True)
    except OSError as error:
        raise StepFailedError(
            Phrase(
                N_("what this boot's root was mounted from is not known: {file}: {error}"),
                file=error.filename,
                error=error.strerror,
            ),
            blame="other",
        ) from error
    named = (_BY_PARTUUID / root_partuuid(slot)).resolve()
    if mounted.name != named.name:
        raise StepFailedError(
            Phrase(
                N_("this boot's root was mounted from {device}, and its UUID leads to {other}"),
                device=mounted.name,
                other=named,
            ),
            hint=N_("unplug the drive that must not be booted"),
            blame="other",
        )
    return mounted.parent.name


def _wait_for_startup() -> Startup:
    # One process that waits for the manager's signal, instead of many that ask. Its code tells a
    # degraded system.
    with blaming("other"):
        run(["systemctl", "is-system-running", "--wait"], check=False, timeout_s=_FINISH_TIMEOUT_S)
        answer = run(["systemctl", "show", *(f"--property={name}" for name in PROPERTIES)])
    startup = parse_startup(answer.stdout)
    if startup is None:
        raise StepFailedError(N_("systemd does not report when start-up finished"), blame="other")
    return startup


def read_unit_times(*, finish_s: float) -> tuple[UnitTime, ...]:
    """When the units of this start-up began and were ready; at least one. Raises StepFailedError.

    Only for after the sample: it asks systemd hundreds of questions.
    """
    properties = ",".join(UNIT_PROPERTIES)
    # Without a state, a pattern leaves out what is inactive: oneshots that have ended
    # (output_show_unit() in src/systemctl/systemctl-util.c). Of the many names of a device one is
    # enough: --all would ask for each.
    answer = run(
        ["systemctl", "show", "--state=loaded", f"--property={properties}", "*"],
        timeout_s=_UNITS_TIMEOUT_S,
    )
    units = parse_unit_times(answer.stdout, finish_s=finish_s)
    if not units:
        raise StepFailedError(N_("systemd reports no unit of this start-up"), blame="other")
    return units


def _read_stats(disk: str) -> DiskStats:
    return parse_stat((_BLOCKS / disk / "stat").read_text())


def _wait_for_quiet(disk: str, clock: Clock) -> float | None:
    """When the disk's last read before a quiet second was seen.

    None if it does not go idle.
    """
    give_up_s = clock.monotonic_s() + _QUIET_TIMEOUT_S
    seen, seen_s = _read_stats(disk).read_ios, clock.monotonic_s()
    while (now_s := clock.monotonic_s()) < give_up_s:
        read_ios = _read_stats(disk).read_ios
        if read_ios != seen:
            seen, seen_s = read_ios, now_s
        elif now_s - seen_s >= _QUIET_S:
            return seen_s
        clock.sleep(_POLL_S)
    return None
