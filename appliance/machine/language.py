# SPDX-License-Identifier: Apache-2.0
"""The language of the interface; the engine itself, its log and its reports speak English.

The choice is kept on the stick, beside the database.
"""

from pathlib import Path

from appliance.errors import RefusedError
from appliance.machine.settings_file import read_setting, write_setting
from appliance.phrases import N_, Phrase
from appliance.stick.partitions import DATA

LANGUAGES = {"en": "English", "de": "Deutsch"}
BUILT_IN = "en"
_NAME = "language"


def store_language(language: str, *, folder: Path = DATA) -> None:
    """Remember it for the next start. Raises OSError."""
    write_setting(_NAME, language, folder=folder)


def read_stored_language(*, folder: Path = DATA) -> str:
    """What was kept; English where nothing was, or nothing that is known."""
    return read_setting(_NAME, LANGUAGES, otherwise=BUILT_IN, folder=folder)


def check_language(language: str) -> None:
    """Raises RefusedError where there is no such language."""
    if language not in LANGUAGES:
        raise RefusedError(
            Phrase(
                N_('there is no language "{language}"; there are {names}'),
                language=language,
                names=", ".join(LANGUAGES),
            )
        )
