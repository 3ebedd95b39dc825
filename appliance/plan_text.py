"""Plans and their values as text: TOML for the engine, short words for people. Pure.

Owns the quoting. Texts come from devices and from people and may hold anything; nothing that leaves
here can break out of its quotes or act on a terminal.
"""

from collections.abc import Collection, Mapping, Sequence

from appliance.drives.model import Drive
from appliance.errors import Refusal
from appliance.units import printable

_LONGEST_SHOWN = 60
_HUGE_BITS = 64


def show_value(value: object) -> str:
    """A value from a plan, for a message: short and harmless."""
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            is_huge = isinstance(value, int) and value.bit_length() > _HUGE_BITS
            return "a huge number" if is_huge else str(value)
        case str():
            end = "…" if len(value) > _LONGEST_SHOWN else ""
            return f'"{printable(value[:_LONGEST_SHOWN])}{end}"'
        case list() | dict():
            return f"an array of {len(value)}" if isinstance(value, list) else "a table"
        case _:
            return f"the date or time {value}"


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
    cycles: int,
    power: str,
    boot_set: str = "256M",
    charts: str = "first-last",
    wake_margin_s: float | None = None,
    autostart: bool = False,
    on_finish: str = "tui",
    controls: Collection[str] = (),
    typed: Mapping[str, str] | None = None,
) -> str:
    """The TOML of a boot campaign in install mode on `drives`.

    `controls` are the identities of the drives to compare with; the others are targets. `typed`
    is, by identity, what the person typed to release each drive: it goes into the plan as it is,
    so that `parse_plan` refuses a slip. Without it every drive is released. Raises Refusal for a
    drive that no plan can name.
    """
    lines = [
        "version = 1",
        "",
        "[campaign]",
        f"name = {quote(name)}",
        f"autostart = {'true' if autostart else 'false'}",
        f"on_finish = {quote(on_finish)}",
    ]
    for drive in drives:
        if not _can_be_named(drive.identity):
            raise Refusal(
                f"{printable(drive.path)} reports no serial number and no WWN that a plan can name",
                hint="leave it out",
            )
        release = drive.identity if typed is None else typed.get(drive.identity)
        lines += [
            "",
            "[[drive]]",
            f"{'serial' if drive.serial else 'wwn'} = {quote(drive.identity)}",
            f"role = {quote('control' if drive.identity in controls else 'target')}",
        ]
        if release is not None:
            lines.append(f"erase = {quote(release)}")
    lines += [
        "",
        "[boot]",
        f"cycles = {cycles}",
        f"power = {quote(power)}",
        f"boot_set = {quote(boot_set)}",
        f"charts = {quote(charts)}",
        f"wake_margin = {quote('auto') if wake_margin_s is None else wake_margin_s}",
    ]
    return "\n".join(lines) + "\n"


def _can_be_named(identity: str) -> bool:
    """TOML holds Unicode scalar values: bytes kept as surrogates have no place in it."""
    return bool(identity) and not any("\ud800" <= each <= "\udfff" for each in identity)
