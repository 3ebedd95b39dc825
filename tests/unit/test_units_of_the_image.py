"""What the image's units and settings keep from happening."""

from configparser import ConfigParser
from pathlib import Path

import pytest

from appliance.campaign import boot_sample, sample_store

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


def test_an_interface_that_crashes_is_started_ever_more_seldom() -> None:
    service = _read("systemd/system/kaltstart-tui@.service")["Service"]
    assert int(service["RestartSteps"]) > 0
    assert int(service["RestartMaxDelaySec"]) > int(service["RestartSec"])


@pytest.mark.parametrize("unit", ["engine", "measure", "tui@"])
def test_no_program_gains_rights(unit: str) -> None:
    service = _read(f"systemd/system/kaltstart-{unit}.service")["Service"]
    assert service["NoNewPrivileges"] == "yes"


def test_a_boot_is_charted_until_its_sample_is_taken() -> None:
    service = _read("systemd/system/kaltstart-bootchart.service")["Service"]
    options = dict(word.split("=") for word in service["ExecStart"].split() if "=" in word)
    recorded_s = int(options["--samples"]) / float(options["--freq"])
    assert recorded_s >= boot_sample._FINISH_TIMEOUT_S
    # Stopping it is drawing: systemd must not end that before the measurement stops waiting.
    assert int(service["TimeoutStopSec"]) < sample_store._CHART_TIMEOUT_S


@pytest.mark.parametrize("file", ["mkosi.conf", "mkosi.extra/usr/share/kaltstart/measured.cmdline"])
def test_the_kernels_console_is_the_first_serial_line_alone(file: str) -> None:
    """Linux takes one console of each kind: the first that is named, and none where that lacks."""
    words = (_REPO / file).read_text().split()
    assert [word for word in words if word.startswith("console=ttyS")] == ["console=ttyS0,115200"]
