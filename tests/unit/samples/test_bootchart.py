# SPDX-License-Identifier: Apache-2.0
"""What systemd-bootchart recorded, from a chart of its own.

The fixture: systemd-bootchart 234 of Debian 12 with 25 samples a second, while dd read 126 MB in
large requests and 16 MB in small ones; the machine's names were replaced, and its counts of the
processors' time are those of /proc/stat, as its kernel had no /proc/schedstat.
"""

from pathlib import Path

import pytest

from appliance.samples.bootchart import BootchartError, parse_bootchart

CHART = Path(__file__).parents[2] / "fixtures/bootchart/debian-12-read.svg"


@pytest.fixture
def chart() -> str:
    return CHART.read_text(encoding="utf-8")


def test_rates_add_up_to_what_was_read(chart: str) -> None:
    found = parse_bootchart(chart)
    assert found.seconds == pytest.approx(3.598, abs=0.001)
    read = sum(bar.value * bar.seconds for bar in found.read)
    # dd's 142 MB, smoothed over a quarter of a second, and what else the machine read meanwhile.
    assert 142e6 < read < 200e6
    assert max(bar.value for bar in found.read) == pytest.approx(491.67 * (1 << 20))
    assert all(0 <= bar.start_s < found.seconds for bar in (*found.read, *found.busy))
    assert 0 < max(bar.value for bar in found.busy) <= 1


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (("</svg>", ""), "no XML"),
        (("IO utilization - read", "other"), "are missing"),
        (("<!-- x=", "<!-- z="), "scale is missing"),
        (('<!-- x="100', '<!-- x="0'), "scale is missing"),
        (('<rect class="bi" x="', '<rect class="bi" x="a'), "not as systemd-bootchart draws"),
        (("<svg ", '<!DOCTYPE a [<!ENTITY b "c">]><svg '), "entities"),
    ],
)
def test_what_is_no_chart_is_refused(chart: str, change: tuple[str, str], why: str) -> None:
    with pytest.raises(BootchartError, match=why):
        parse_bootchart(chart.replace(*change))
