# SPDX-License-Identifier: Apache-2.0
"""What a figure is of is read as it was put together."""

import pytest

from appliance.plan.read import parse_plan
from appliance.samples.variants import (
    OTHER,
    TOTAL,
    ArrayVariant,
    NamedVariant,
    Variant,
    parse_part,
    parse_variant,
)
from appliance.workloads.base import make_workload
from appliance.workloads.fio.keys import FioVariant
from appliance.workloads.lottery.keys import LotteryVariant
from appliance.workloads.matrix.keys import MatrixVariant
from appliance.workloads.surface.keys import SurfaceVariant
from appliance.workloads.sweep.keys import SweepVariant
from appliance.workloads.verify.keys import VerifyVariant


@pytest.mark.parametrize(
    ("kind", "text", "variant"),
    [
        ("fio", "seq-read", FioVariant(test="seq-read")),
        ("fio", "custom/round-12/write", FioVariant(test="custom", round=12, direction="write")),
        ("fio", "custom/read", FioVariant(test="custom", direction="read")),
        ("fio", "writeback/rand-read", FioVariant(test="rand-read", mode="writeback")),
        ("fio", "none/warm-up/3", FioVariant(test="warm-up", mode="none", round=3)),
        ("fio", "precondition/pass-2", FioVariant(test="precondition", round=2)),
        ("lottery", "direct", LotteryVariant(reading="direct")),
        ("lottery", "direct/2", LotteryVariant(reading="direct", repetition=2)),
        ("lottery", "cold/1a/2", LotteryVariant(reading="cold", file="1a", repetition=2)),
        ("matrix", "2x/4K/reread", MatrixVariant(size="2x", record="4K", operation="reread")),
        (
            "sweep",
            "64M/rand-read/norandommap/zipf",
            SweepVariant(size="64M", test="rand-read", access="norandommap/zipf"),
        ),
        ("surface", "007", SurfaceVariant(7)),
        ("surface", "whole", SurfaceVariant()),
        ("verify", "read-cold-00", VerifyVariant("read-cold", 0)),
        ("verify", "read", VerifyVariant("read")),
        ("sql", "total", TOTAL),
        ("selftest", "short", NamedVariant("short")),
        ("verify", "other", OTHER),
        ("lottery", "array", ArrayVariant()),
        ("lottery", "array/cold/1", ArrayVariant("cold/1")),
        # Of another version, or of no version at all.
        ("fio", "seq-read/pass-1", NamedVariant("seq-read/pass-1")),
        ("matrix", "64M/4K", NamedVariant("64M/4K")),
        ("lottery", "direct/1", NamedVariant("direct/1")),
        ("surface", "7", NamedVariant("7")),
        ("fio", "\x1b[2J", NamedVariant("\x1b[2J")),
        ("of tomorrow", "x", NamedVariant("x")),
        ("fio", "array/", NamedVariant("array/")),
        ("fio", "array/\x1b[2J", NamedVariant("array/\x1b[2J")),
        # Numbers that Python reads no more, and what a pattern would look at for hours.
        ("fio", "x/round-" + "9" * 5000, NamedVariant("x/round-" + "9" * 5000)),
        ("lottery", "a/b/" + "9" * 5000, NamedVariant("a/b/" + "9" * 5000)),
        ("lottery", f"a/{'b' * 500_000}//", NamedVariant(f"a/{'b' * 500_000}//")),
        (
            "lottery",
            f"cold/{'ä' * 255}/2",
            LotteryVariant(reading="cold", file="ä" * 255, repetition=2),
        ),
    ],
    ids=lambda value: str(value)[:40],
)
def test_it_is_read_as_it_was_put_together(kind: str, text: str, variant: Variant) -> None:
    assert parse_variant(kind, text) == variant
    assert str(variant) == text


def test_every_part_of_a_plan_is_read_as_one_of_its_kind() -> None:
    tables = (
        'kind = "fio"\nprecondition = 1',
        'kind = "lottery"\ntickets = { a = 1, 2b = 2 }',
        'kind = "matrix"\nfilesystem = "ext4"',
        'kind = "sweep"\nset_sizes = ["64M"]\nnorandommap = [true, false]',
        'kind = "surface"',
        'kind = "verify"\npower_cycle = true',
    )
    plan = parse_plan(
        'version = 1\n[[drive]]\nserial = "A"\nerase = "A"\n'
        + "".join(f"[[workload]]\n{table}\n" for table in tables)
    )
    for workload in plan.workloads:
        for part in make_workload(workload).parts:
            variant = parse_variant(workload.kind, part)
            assert str(variant) == part
            assert type(variant).__name__.lower() == f"{workload.kind}variant"


def test_a_part_that_is_none_of_the_kind_is_no_part_of_it() -> None:
    assert parse_part("verify", "write-03", VerifyVariant) == VerifyVariant("write", 3)
    with pytest.raises(ValueError, match="'slices' is no part of verify"):
        parse_part("verify", "slices", VerifyVariant)


def test_the_whole_is_the_same_in_all_its_pieces() -> None:
    assert FioVariant(test="custom", mode="none", round=2, direction="read").whole == FioVariant(
        test="custom", mode="none"
    )
    assert VerifyVariant("write", 3).whole == VerifyVariant("write")
    assert SurfaceVariant(3).whole == SurfaceVariant()
