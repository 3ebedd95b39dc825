# SPDX-License-Identifier: Apache-2.0
"""Every boot entry of the image, for both loaders, names files that are there."""

import re
import subprocess

from appliance.reference_os.install import SLOTS
from tests.lab.campaign import IMAGE
from tests.lab.stick import find_partition


def _mtools(tool: str, *words: str) -> str:
    esp = find_partition(IMAGE, "esp")
    assert esp is not None
    command = [tool, *words[:-1], "-i", f"{IMAGE}@@{esp.offset_bytes}", f"::{words[-1]}"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_every_entry_names_files_that_are_there() -> None:
    there = {line.removeprefix("::") for line in _mtools("mdir", "-/", "-b", "/").split()}
    entries = [path for path in there if path.endswith(".conf") and "/entries/" in path]
    assert len(entries) == 2 * SLOTS + 1

    texts = [_mtools("mtype", path) for path in entries]
    texts.append(_mtools("mtype", "/grub/grub.cfg"))
    for text in texts:
        named = re.findall(r"^\s*(?:linux|initrd) (.+)$", text, re.MULTILINE)
        files = {word for words in named for word in words.split() if word.startswith("/")}
        assert files
        assert files <= there, files - there


def test_the_loader_enrols_no_keys() -> None:
    settings = _mtools("mtype", "/loader/loader.conf").splitlines()
    assert "secure-boot-enroll off" in settings
    assert "editor no" in settings
