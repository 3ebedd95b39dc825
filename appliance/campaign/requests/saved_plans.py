# SPDX-License-Identifier: Apache-2.0
"""Plans saved on KALTSTART, in the folder plans, each complete or absent.

A saved plan is never started from here, and does not release a drive on its own. Nothing but such
a plan is removed.
"""

from pathlib import Path

from appliance.errors import RefusedError, StickError
from appliance.flush import replace_file, sync_path
from appliance.phrases import N_, Phrase
from appliance.plan.read import MAX_PLAN_BYTES
from appliance.stick.partitions import writable_fat
from appliance.units import printable, slug

FOLDER = "plans"


def save_plan(name: str, text: str, *, replace: bool) -> str:
    """Write `text` as `plans/NAME.toml`; return that path.

    FAT tells upper from lower case nowhere: names are lower case, and one that another computer
    wrote otherwise is the same. Raises RefusedError where there is a plan of that name and
    `replace` is not wanted, or where it is too long; StickError.
    """
    place = f"{FOLDER}/{slug(name).lower()}.toml"
    raw = text.encode()
    if len(raw) > MAX_PLAN_BYTES:
        raise RefusedError(
            Phrase(N_("{file} would be longer than {most} bytes"), file=place, most=MAX_PLAN_BYTES)
        )
    with writable_fat() as fat:
        folder = fat / FOLDER
        path = fat / place
        try:
            folder.mkdir(exist_ok=True)
            same = [file for file in folder.iterdir() if file.name.casefold() == path.name]
            if same:
                path = same[0]
                place = f"{FOLDER}/{printable(path.name)}"
            if same and not replace:
                raise RefusedError(
                    Phrase(N_("{file} is there already"), file=place),
                    hint=N_("replace it or choose another name"),
                )
            replace_file(path, raw)
        except OSError as error:
            raise StickError(
                Phrase(
                    N_("{file} cannot be written to KALTSTART: {error}"),
                    file=place,
                    error=error.strerror,
                ),
                hint=N_("make room on it on another computer"),
            ) from error
        _sync(folder, Phrase(N_("kept as {file}"), file=place))
    return place


def delete_plan(file_name: str) -> str:
    """Remove `plans/FILE_NAME`; return that path.

    Raises RefusedError where it is no plan in that very folder, or is gone; StickError.
    """
    place = f"{FOLDER}/{printable(file_name)}"
    if Path(file_name).name != file_name or not file_name.casefold().endswith(".toml"):
        raise RefusedError(Phrase(N_("{file} is not a saved plan"), file=place))
    with writable_fat() as fat:
        path = fat / FOLDER / file_name
        try:
            path.unlink()
        except FileNotFoundError as error:
            raise RefusedError(Phrase(N_("{file} no longer exists"), file=place)) from error
        except OSError as error:
            raise StickError(
                Phrase(
                    N_("{file} cannot be removed from KALTSTART: {error}"),
                    file=place,
                    error=error.strerror,
                ),
                hint=N_("remove it on another computer"),
            ) from error
        _sync(path.parent, Phrase(N_("{file} is gone"), file=place))
    return place


def _sync(folder: Path, done: str) -> None:
    """What was done in it outlasts a power cut. Raises StickError, which says it is done."""
    try:
        sync_path(folder)
    except OSError as error:
        raise StickError(
            Phrase(
                N_("{what}, but may not outlast a power cut: {error}"),
                what=done,
                error=error.strerror,
            ),
            hint=N_("check the list of saved plans after the next start"),
        ) from error
