# SPDX-License-Identifier: Apache-2.0
"""What the image's units and settings keep from happening."""

from configparser import ConfigParser
from pathlib import Path

import pytest

from appliance.campaign.boots import sample as boot_sample
from appliance.campaign.boots import store_sample

_REPO = Path(__file__).parents[2]
_LIB = _REPO / "mkosi.extra/usr/lib"


def _read(name: str) -> ConfigParser:
    parser = ConfigParser(strict=False, interpolation=None, delimiters=("=",))
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string((_LIB / name).read_text())
    return parser


def test_no_key_restarts_the_machine() -> None:
    manager = _read("systemd/system.conf.d/50-kaltstart.conf")["Manager"]
    assert manager["CtrlAltDelBurstAction"] == "none"
    assert manager["DefaultTimeoutStopSec"] == "20s"
    settings = (_LIB / "sysctl.d/50-kaltstart.conf").read_text().splitlines()
    assert "kernel.sysrq = 0" in settings


def test_no_key_and_no_lid_cuts_the_power_or_has_the_machine_sleep() -> None:
    """All that logind.conf(5) of systemd 257 acts on by default."""
    login = _read("systemd/logind.conf.d/50-kaltstart.conf")["Login"]
    keys = ("PowerKey", "RebootKey", "SuspendKey", "HibernateKey")
    lids = ("LidSwitch", "LidSwitchExternalPower", "LidSwitchDocked")
    handled = [f"Handle{key}{how}" for key in keys for how in ("", "LongPress")]
    handled += [f"Handle{lid}" for lid in lids]
    assert dict(login) == dict.fromkeys(handled, "ignore")
    sleep = _read("systemd/sleep.conf.d/50-kaltstart.conf")["Sleep"]
    ways = ("Suspend", "Hibernation", "SuspendThenHibernate", "HybridSleep")
    assert dict(sleep) == {f"Allow{way}": "no" for way in ways}


def test_the_power_key_switches_off_where_the_engine_has_ended_for_good() -> None:
    engine = _read("systemd/system/kaltstart-engine.service")["Unit"]
    assert engine["OnFailure"] == "kaltstart-power-key.service"
    unit = _read("systemd/system/kaltstart-power-key.service")["Unit"]
    assert unit["Conflicts"] == "kaltstart-engine.service"
    assert _read("kaltstart/power-key.conf")["Login"]["HandlePowerKey"] == "poweroff"


def test_an_interface_that_crashes_is_started_ever_more_seldom() -> None:
    service = _read("systemd/system/kaltstart-tui@.service")["Service"]
    assert int(service["RestartSteps"]) > 0
    assert int(service["RestartMaxDelaySec"]) > int(service["RestartSec"])


def test_the_interface_waits_for_its_font_and_for_nothing_else() -> None:
    unit = _read("systemd/system/kaltstart-tui@.service")["Unit"]
    assert unit["DefaultDependencies"] == "no"
    assert not {"After", "Requires", "Wants", "BindsTo"} & set(unit)
    # What DefaultDependencies would have said: it ends when the machine goes down.
    assert "shutdown.target" in unit["Conflicts"].split()
    assert "shutdown.target" in unit["Before"].split()
    font = _read("systemd/system/kaltstart-console.service")["Unit"]
    assert "kaltstart-tui@tty1.service" in font["Before"].split()
    assert font["DefaultDependencies"] == "no"
    assert (
        "enable kaltstart-console.service"
        in (_LIB / "systemd/system-preset/00-kaltstart.preset").read_text()
    )


def test_the_interface_makes_its_folder_itself() -> None:
    """It starts before systemd-tmpfiles does."""
    service = _read("systemd/system/kaltstart-tui@.service")["Service"]
    assert service["RuntimeDirectory"] == "kaltstart/tui"
    assert service["RuntimeDirectoryPreserve"] == "yes"
    assert "/run/kaltstart/tui" not in (_LIB / "tmpfiles.d/kaltstart.conf").read_text()


_SERIAL = ("xterm-256color", "80", "24")


@pytest.mark.parametrize(
    ("terminal", "expected"),
    # SPCR may name any line that the kernel has.
    [("tty1", ("linux", "", "")), *((f"ttyS{number}", _SERIAL) for number in range(32))],
)
def test_an_interface_knows_what_its_terminal_is(
    terminal: str, expected: tuple[str, str, str]
) -> None:
    """An empty size is the kernel's, as `systemd --test` of version 257 shows."""
    values = {}
    folder = _LIB / "systemd/system"
    dropins = sorted((folder / f"kaltstart-tui@{terminal}.service.d").glob("*.conf"))
    for file in (folder / "kaltstart-tui@.service", *dropins):
        for line in file.read_text().splitlines():
            name, _, value = line.removeprefix("Environment=").partition("=")
            values[name] = value
    assert tuple(values[name] for name in ("TERM", "TTYColumns", "TTYRows")) == expected


@pytest.mark.parametrize("unit", ["engine", "measure", "tui@"])
def test_no_program_gains_rights(unit: str) -> None:
    service = _read(f"systemd/system/kaltstart-{unit}.service")["Service"]
    assert service["NoNewPrivileges"] == "yes"


_OWN_MOUNTS = {
    "DynamicUser",
    "InaccessiblePaths",
    "PrivateDevices",
    "PrivateMounts",
}
_OWN_MOUNTS |= {"PrivateTmp", "ReadOnlyPaths", "ReadWritePaths", "RootDirectory"}


def test_the_interface_may_do_no_more_than_it_does() -> None:
    service = _read("systemd/system/kaltstart-tui@.service")["Service"]
    allowed = {
        "User": "kaltstart-tui",
        "AmbientCapabilities": "CAP_SYS_NICE CAP_SYSLOG",
        "CapabilityBoundingSet": "CAP_SYS_NICE CAP_SYSLOG",
        "DevicePolicy": "closed",
        "LockPersonality": "yes",
        "RestrictAddressFamilies": "AF_UNIX",
        "RestrictNamespaces": "yes",
        "RestrictRealtime": "yes",
        "RestrictSUIDSGID": "yes",
        "SystemCallArchitectures": "native",
    }
    assert {name: service.get(name) for name in allowed} == allowed
    assert not {name for name in service if name in _OWN_MOUNTS or name.startswith("Protect")}
    assert "u kaltstart-tui " in (_LIB / "sysusers.d/kaltstart.conf").read_text()


@pytest.mark.parametrize("unit", ["engine", "measure"])
def test_no_filter_is_in_the_way_of_what_is_timed(unit: str) -> None:
    """A filter of system calls holds for all that a unit starts: fio among them."""
    service = _read(f"systemd/system/kaltstart-{unit}.service")["Service"]
    filters = ("Lock", "MemoryDeny", "Private", "Protect", "Restrict", "SystemCall")
    named = {name for name in service if name.startswith(filters)}
    assert not named


def test_a_boot_is_charted_until_its_sample_is_taken() -> None:
    service = _read("systemd/system/kaltstart-bootchart.service")["Service"]
    options = dict(word.split("=") for word in service["ExecStart"].split() if "=" in word)
    recorded_s = int(options["--samples"]) / float(options["--freq"])
    assert recorded_s >= boot_sample._FINISH_TIMEOUT_S
    # Stopping it is drawing: systemd must not end that before the measurement stops waiting.
    assert int(service["TimeoutStopSec"]) < store_sample._CHART_TIMEOUT_S


@pytest.mark.parametrize("file", ["mkosi.conf", "mkosi.extra/usr/share/kaltstart/measured.cmdline"])
def test_the_kernels_console_is_the_first_serial_line_alone(file: str) -> None:
    """Linux takes one console of each kind: the first that is named, and none where that lacks."""
    words = (_REPO / file).read_text().split()
    assert [word for word in words if word.startswith("console=ttyS")] == ["console=ttyS0,115200"]


def test_what_systemd_does_when_it_crashes_is_never_a_restart_that_nothing_bounds() -> None:
    """The kernel's options would go before what the initrd notes of a kept entry."""
    measured = (_REPO / "mkosi.extra/usr/share/kaltstart/measured.cmdline").read_text()
    assert "crash_action" not in measured
    assert "systemd.crash_action=freeze" in (_REPO / "mkosi.conf").read_text().split()
    config = "usr/lib/systemd/system.conf.d/50-kaltstart.conf"
    assert "\nCrashAction=reboot\n" in (_REPO / "mkosi.extra" / config).read_text()
    assert Path(config).name < "kept-entry.conf", "systemd takes the last of them by name"
    # The initrd's own systemd reads it before anything knows whether the entry is kept.
    initrd = _REPO / "mkosi.images/initrd"
    assert "\nCrashAction=poweroff\n" in (initrd / "mkosi.extra" / config).read_text()
    assert "keep system system.conf.d " in (initrd / "mkosi.finalize").read_text()
    # Nor does the kernel restart before the initrd has looked (tests/process/test_kept_entry.py).
    assert {"panic=0", "mce=nobootlog"} <= {*measured.split()}
