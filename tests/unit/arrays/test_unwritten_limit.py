# SPDX-License-Identifier: Apache-2.0
"""How much RAM may hold of what is to be written to an array."""

from mmap import PAGESIZE
from pathlib import Path

import pytest

from appliance.arrays import settings
from appliance.arrays.settings import apply_settings, describe_limit
from appliance.arrays.state import parse_dirty_threshold_pages
from appliance.errors import StepFailedError
from tests.unit.arrays.fake_kernel import ARRAY, SET_UUID, FakeKernel, make_fake_kernel
from tests.unit.plan.array_plan import ARRAY_PLAN

_CACHE_BYTES = 64 << 30


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeKernel:
    """The array runs, on a cache of 64 GiB."""
    fake = make_fake_kernel(tmp_path, monkeypatch)
    for name, text in {
        "block/sdb/size": str(_CACHE_BYTES // 512),
        "block/bcache0/bdi/strict_limit": "0",
        "block/bcache0/bdi/max_bytes": "0",
        f"fs/bcache/{SET_UUID}/congested_read_threshold_us": "2000",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(settings, "_VMSTAT", tmp_path / "vmstat")
    return fake


@pytest.mark.parametrize(
    ("threshold_bytes", "limit", "said"),
    [
        (8 << 30, ("0", "0"), ""),
        (9 << 30, ("1", str(8 << 30)), "RAM holds at most 8 GiB of unwritten data"),
    ],
)
def test_the_page_cache_keeps_back_no_more_than_the_cache_can_take(
    fake: FakeKernel, tmp_path: Path, threshold_bytes: int, limit: tuple[str, str], said: str
) -> None:
    pages = threshold_bytes // PAGESIZE
    (tmp_path / "vmstat").write_text(f"nr_dirtied 7\nnr_dirty_threshold {pages}\n")
    apply_settings(ARRAY, ARRAY_PLAN)
    bdi = tmp_path / "block/bcache0/bdi"
    assert ((bdi / "strict_limit").read_text(), (bdi / "max_bytes").read_text()) == limit
    assert describe_limit(ARRAY) == said


def test_a_kernel_that_does_not_say_its_threshold_is_refused() -> None:
    with pytest.raises(StepFailedError, match="nr_dirty_threshold"):
        parse_dirty_threshold_pages("nr_dirtied 7\n")


def test_a_cache_drive_that_is_gone_fails_the_step(fake: FakeKernel, tmp_path: Path) -> None:
    (tmp_path / "block/sdb/size").unlink()
    with pytest.raises(StepFailedError, match="the cache drive may be gone"):
        apply_settings(ARRAY, ARRAY_PLAN)
