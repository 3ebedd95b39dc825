# SPDX-License-Identifier: Apache-2.0
"""What the I/O met: every request against every kind of count."""

import pytest

from appliance.caches.judge import hit_ratio, judge_reads, judge_writes
from appliance.samples.model import CacheState, PageCache

MB = 1_000_000


def read(
    requested: PageCache, device: int, *, app: int = 100 * MB, proven: bool = True
) -> CacheState:
    return judge_reads(
        requested=requested,
        proven_before=proven,
        reason="as set up",
        app_read_bytes=app,
        device_read_bytes=device,
        ballast_bytes=7,
        drive_state="trained 2 times",
    )


def written(requested: PageCache, device: int, *, app: int = 100 * MB) -> CacheState:
    return judge_writes(
        requested=requested,
        proven_before=True,
        reason="as set up",
        app_write_bytes=app,
        device_write_bytes=device,
        ballast_bytes=7,
        drive_state="fresh",
    )


@pytest.mark.parametrize(
    ("requested", "device_mb", "met", "proof"),
    [
        ("cold", 100, "cold", "proven"),
        ("cold", 95, "cold", "proven"),
        ("cold", 151, "cold", "proven"),  # read-ahead
        ("cold", 152, "cold", "unproven"),
        ("cold", 300, "cold", "unproven"),
        ("cold", 94, "partial", "unproven"),
        ("cold", 50, "partial", "unproven"),
        ("cold", 1, "warm", "unproven"),
        ("cold", 0, "warm", "unproven"),
        ("warm", 0, "warm", "proven"),
        ("warm", 1, "warm", "proven"),
        ("warm", 2, "partial", "unproven"),
        ("warm", 100, "partial", "unproven"),
        ("bypass", 100, "bypass", "proven"),
        ("bypass", 99, "bypass", "proven"),
        ("bypass", 120, "bypass", "proven"),
        ("bypass", 98, "partial", "unproven"),
        ("bypass", 0, "partial", "unproven"),
        ("bounded", 100, "bounded", "proven"),
        ("bounded", 40, "bounded", "proven"),
        ("bounded", 1, "warm", "unproven"),
        ("partial", 40, "partial", "unproven"),
        ("partial", 0, "warm", "unproven"),
    ],
)
def test_reads(requested: PageCache, device_mb: int, met: PageCache, proof: str) -> None:
    state = read(requested, device_mb * MB)
    assert (state.page_cache, state.proof) == (met, proof)
    assert "as set up" in state.proof_reason
    assert f"the device served {device_mb * MB} of {100 * MB} bytes read" in state.proof_reason
    assert (state.ballast_bytes, state.drive_state) == (7, "trained 2 times")


def test_a_small_file_may_be_read_ahead() -> None:
    assert read("cold", 4096 + (1 << 20), app=4096).proof == "proven"
    assert read("cold", 6144 + (1 << 20) + 1, app=4096).proof == "unproven"


@pytest.mark.parametrize("requested", ["cold", "warm", "bypass", "bounded"])
def test_what_was_not_proven_before_is_never_proven_after(requested: PageCache) -> None:
    device = 0 if requested == "warm" else 100 * MB
    state = read(requested, device, proven=False)
    assert (state.page_cache, state.proof) == (requested, "unproven")
    assert state.proof_reason.startswith("as set up; the device served")


@pytest.mark.parametrize("requested", ["cold", "partial", "warm", "bypass", "bounded"])
def test_reading_nothing_proves_nothing(requested: PageCache) -> None:
    for device in (0, MB):
        state = read(requested, device, app=0)
        assert (state.page_cache, state.proof) == (requested, "unproven")
        assert state.proof_reason == "nothing was read; as set up"
    state = written(requested, 0, app=0)
    assert (state.page_cache, state.proof) == (requested, "unproven")
    assert state.proof_reason == "nothing was written; as set up"


def test_counters_that_went_backwards_prove_nothing() -> None:
    assert read("cold", -1).proof_reason.startswith("the device's counters went backwards")
    assert read("warm", -1).proof == "unproven"
    assert written("bypass", -1).proof == "unproven"


def test_a_contradiction_says_what_was_requested() -> None:
    assert read("cold", 50 * MB).proof_reason.startswith(
        "a cold cache was requested, but RAM answered a part: "
    )
    assert read("cold", 0).proof_reason.startswith("a cold cache was requested, but RAM answered:")
    assert read("cold", 300 * MB).proof_reason.startswith("read-ahead may hide what RAM answered: ")
    assert read("warm", 50 * MB).proof_reason.startswith("a warm cache was requested, but the dev")
    assert read("bypass", 50 * MB).proof_reason.startswith("the cache was to be bypassed, but some")
    assert read("bounded", 0).proof_reason.startswith("the cache was to be bounded, but RAM answ")


@pytest.mark.parametrize(
    ("requested", "device_mb", "met", "proof"),
    [
        ("cold", 100, "cold", "proven"),
        ("cold", 98, "partial", "unproven"),
        ("warm", 120, "warm", "proven"),  # with the file system's journal
        ("warm", 0, "partial", "unproven"),
        ("bypass", 99, "bypass", "proven"),
        ("bypass", 98, "partial", "unproven"),
        ("bounded", 100, "bounded", "proven"),
        ("bounded", 20, "partial", "unproven"),
        ("partial", 100, "partial", "unproven"),
    ],
)
def test_writes(requested: PageCache, device_mb: int, met: PageCache, proof: str) -> None:
    state = written(requested, device_mb * MB)
    assert (state.page_cache, state.proof) == (met, proof)
    assert f"the device was given {device_mb * MB} of {100 * MB} bytes" in state.proof_reason
    assert (state.ballast_bytes, state.drive_state) == (7, "fresh")


@pytest.mark.parametrize("device_mb", [-1, 0, 98])
def test_too_few_bytes_of_a_device_that_lacks_some_say_nothing(device_mb: int) -> None:
    state = judge_writes(
        requested="bypass",
        proven_before=True,
        reason="O_DIRECT",
        app_write_bytes=100 * MB,
        device_write_bytes=device_mb * MB,
        lacks_writes=True,
    )
    assert (state.page_cache, state.proof) == ("bypass", "unproven")
    assert state.proof_reason == (
        "Linux does not count what an array writes past its cache; O_DIRECT"
    )


@pytest.mark.parametrize(
    ("app", "device", "ratio"),
    [(100, 0, 1.0), (100, 25, 0.75), (100, 100, 0.0), (100, 300, 0.0), (0, 5, 0.0), (100, -5, 1.0)],
)
def test_the_share_that_ram_answered(app: int, device: int, ratio: float) -> None:
    assert hit_ratio(app, device) == ratio


@pytest.mark.parametrize("device_mb", [0, 1, 50, 94, 100, 300])
def test_what_ram_answers_later_does_not_change_how_the_reads_began(device_mb: int) -> None:
    assert read("cold", device_mb * MB).began_cold == "proven"
    assert read("cold", device_mb * MB, proven=False).began_cold == "unproven"


@pytest.mark.parametrize("requested", ["warm", "bypass", "bounded", "partial"])
def test_only_what_was_to_begin_cold_has_begun_so(requested: PageCache) -> None:
    assert read(requested, 100 * MB).began_cold == ""
    assert written(requested, 100 * MB).began_cold == ""


def test_writes_begin_cold_where_a_drop_was_proven() -> None:
    assert written("cold", 50 * MB).began_cold == "proven"
