# SPDX-License-Identifier: Apache-2.0
"""What the lab takes from a stick's file after a campaign."""

import subprocess
from pathlib import Path

from tests.lab.stick import DATA_NAME, get_data_tree, get_database

_MIB = 1 << 20


def test_what_is_on_a_stick_comes_to_a_folder_with_a_blank_in_its_name(tmp_path: Path) -> None:
    content = tmp_path / "content"
    (content / "raw/step 1").mkdir(parents=True)
    (content / "raw/step 1/fio.json").write_text("{}")
    (content / "kaltstart.sqlite").write_bytes(b"a database")
    stick, data = tmp_path / "stick.raw", tmp_path / "data.ext4"
    with stick.open("wb") as file:
        file.truncate(34 * _MIB)
    subprocess.run(
        ["sfdisk", "--quiet", stick], check=True, text=True, capture_output=True,
        input=f"label: gpt\nstart=1MiB, size=32MiB, name={DATA_NAME}\n",
    )  # fmt: skip
    subprocess.run(["mkfs.ext4", "-q", "-d", content, data, "32M"], check=True, capture_output=True)
    with stick.open("r+b") as file:
        file.seek(_MIB)
        file.write(data.read_bytes())

    folder = tmp_path / "no unit"
    folder.mkdir()
    database = get_database(stick, folder)
    assert database is not None
    assert database.read_bytes() == b"a database"
    tree = get_data_tree(stick, "/raw/step 1", folder / "raw files")
    assert [each.name for each in tree.rglob("*") if each.is_file()] == ["fio.json"]
