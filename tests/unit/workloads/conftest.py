# SPDX-License-Identifier: Apache-2.0
"""The bench of whatever runs fio."""

from pathlib import Path

import pytest

from tests.unit.workloads.fio.fio_bench import FioBench, make_fio_bench


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FioBench:
    """Answers in fio's place, for the length of a test."""
    return make_fio_bench(tmp_path, monkeypatch)
