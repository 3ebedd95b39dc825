# SPDX-License-Identifier: Apache-2.0
"""Plans and their values as text: TOML for the engine, short words for people. Pure.

Owns the quoting. Texts come from devices and from people and may hold anything; nothing that leaves
here can break out of its quotes or act on a terminal.
"""

import re
from collections.abc import Mapping, Sequence

from appliance.drives.model import Drive
from appliance.errors import RefusedError
from appliance.phrases import N_, Phrase
from appliance.units import printable

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def quote(text: str) -> str:
    """`text` as a TOML basic string on one line, in plain ASCII."""
    quoted = []
    for character in text:
        code = ord(character)
        if character in '"\\':
            quoted.append(f"\\{character}")
        elif " " <= character <= "~":
            quoted.append(character)
        else:
            quoted.append(f"\\u{code:04X}" if code <= 0xFFFF else f"\\U{code:08X}")
    return f'"{"".join(quoted)}"'


def compose_plan(
    *,
    name: str,
    drives: Sequence[Drive],
    boot: Mapping[str, object] | None = None,
    on_finish: str = "tui",
    roles: Mapping[str, str] | None = None,
    array: Mapping[str, object] | None = None,
    typed: Mapping[str, str] | None = None,
    workloads: Sequence[Mapping[str, object]] = (),
    more_settings: Mapping[str, Mapping[str, object]] | None = None,
    labels: Mapping[str, str] | None = None,
    release_key: str = "erase",
) -> str:
    """The TOML of a campaign on `drives`: a boot test in install mode, then `workloads`.

    Without `boot` there is no boot test. Each of `workloads` has the keys of a `[[workload]]`
    table, `kind` among them, and values as TOML has them: texts, numbers, lists, mappings; so have
    `boot` and `array`, which may be empty. `roles` are by identity; all else are targets. `typed`
    is, by identity, what the person typed to release each drive: it goes into the plan as it is, so
    that `parse_plan` refuses a slip; a drive that is not in it is only read. Without `typed` every
    drive is released.
    `release_key` is start where the drives' own systems are started.
    A drive whose number may be another's too is named by model and size as well. `more_settings`
    has other keys of `campaign`, `boot` and `array`, by table; `labels` are by identity.
    Raises RefusedError for a drive that no plan can name.
    """
    roles, more_settings, labels = roles or {}, more_settings or {}, labels or {}
    lines = [
        "version = 1",
        "",
        "[campaign]",
        f"name = {quote(name)}",
        f"on_finish = {quote(on_finish)}",
        *_show_pairs(more_settings.get("campaign", {})),
    ]
    for drive in drives:
        if not _can_be_named(drive.identity):
            raise RefusedError(
                Phrase(
                    N_("{path} reports no serial number and no WWN that a plan can name"),
                    path=printable(drive.path),
                ),
                hint=N_("remove it from the plan"),
            )
        release = drive.identity if typed is None else typed.get(drive.identity)
        lines += [
            "",
            "[[drive]]",
            f"{'serial' if drive.serial else 'wwn'} = {quote(drive.identity)}",
            f"role = {quote(roles.get(drive.identity, 'target'))}",
        ]
        if release is not None:
            lines.append(f"{release_key} = {quote(release)}")
        if drive.serial_doubt:
            if _can_be_named(drive.model):
                lines.append(f"model = {quote(drive.model)}")
            lines.append(f"size = {drive.size_bytes}")
        if label := labels.get(drive.identity):
            lines.append(f"label = {quote(label)}")
    if boot is not None:
        lines += ["", "[boot]", *_show_pairs({**boot, **more_settings.get("boot", {})})]
    if array is not None:
        lines += ["", "[array]", *_show_pairs({**array, **more_settings.get("array", {})})]
    for workload in workloads:
        lines += ["", "[[workload]]", *_show_pairs(workload)]
    return "\n".join(lines) + "\n"


def _show_pairs(table: Mapping[str, object]) -> list[str]:
    return [f"{_show_key(key)} = {_to_toml(value)}" for key, value in table.items()]


def _show_key(key: str) -> str:
    return key if _BARE_KEY.fullmatch(key) else quote(key)


def _to_toml(value: object) -> str:
    """`value` on one line. Raises TypeError for what TOML does not have."""
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return str(value)
        case str():
            return quote(value)
        case list() | tuple():
            return f"[{', '.join(_to_toml(item) for item in value)}]"
        case Mapping():
            pairs = (f"{_show_key(key)} = {_to_toml(item)}" for key, item in value.items())
            return f"{{ {', '.join(pairs)} }}" if value else "{}"
        case _:
            raise TypeError(f"TOML has no {type(value).__name__}")


def _can_be_named(identity: str) -> bool:
    """TOML holds Unicode scalar values: bytes kept as surrogates have no place in it."""
    return bool(identity) and not any("\ud800" <= character <= "\udfff" for character in identity)
