# SPDX-License-Identifier: Apache-2.0
from appliance.arrays.make import journal_end_bytes


def test_journal_of_a_small_drive() -> None:
    # 256 MiB of 128 KiB: what `bcache-super-show` of such a cache says is first_sector 256.
    assert journal_end_bytes(buckets=2048, bucket_bytes=128 << 10) == (1 + 16) * (128 << 10)


def test_journal_has_limits() -> None:
    assert journal_end_bytes(buckets=200, bucket_bytes=512 << 10) == 3 * (512 << 10)
    assert journal_end_bytes(buckets=1 << 20, bucket_bytes=512 << 10) == 257 * (512 << 10)


def test_superblock_may_take_more_than_one_bucket() -> None:
    assert journal_end_bytes(buckets=256, bucket_bytes=4096) == (3 + 2) * 4096
