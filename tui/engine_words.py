"""The engine's words and sentences in the current language. Pure.

In the database, in the report and at the console these stay as they are here. What a drive, a tool
or the kernel says is nobody's to translate, nor what the engine tells of a mistake in a plan.
"""

import re
from functools import cache
from string import Formatter

from tui.campaigns import ARRAY
from tui.language import N_, _

# As the database has them; they are translated where they are drawn.
_ROLES = (N_("target"), N_("control"), N_("backing"), N_("cache"), N_("array"))
_POWER = (N_("cold"), N_("warm"), N_("proven"), N_("unproven"))
_CACHE_STATES = (N_("partial"), N_("bypass"), N_("bounded"))
SENTENCES = (
    # What it does, and what it does then.
    N_("{kind} on {device}: {what}"),
    N_("Writing {what}"),
    N_("go on with campaign {number}"),
    N_("start campaign {name}"),
    N_("power off, then cycle {number} of {drive}"),
    N_("restart, then cycle {number} of {drive}"),
    N_("power off, then {part} of {device}"),
    N_("waiting for drive {drive}"),
    N_("{what}: no answer from the drive; seconds"),
    # Why a campaign, a step or a boot ended.
    N_("drive {drive} has not answered for {seconds} s ({what})"),
    N_("drive {drive} does not answer since {time} ({what})"),
    N_("{count} restarts are the limit of this campaign"),
    N_("{row}: damaged on the stick, and put back from a copy of the database"),
    N_("{count} restarts of it are missing in the database: the stick forgets what it stores"),
    N_(
        "it was interrupted for {count} days by this machine's clock: look at what is on its "
        "drives, and resume it if they may still be written to"
    ),
    N_(
        "drive {drive} carries what was not on it when this campaign last wrote to it, and is not "
        "the campaign's: {found}; somebody may have used it since"
    ),
    N_(
        "drive {drive} does not carry what it did when it was released, and nothing of this "
        "campaign: {found}"
    ),
    N_(
        "The plan does not start by itself: drive {drive} carries what a campaign left on it, "
        "and the stick's database does not know of that campaign"
    ),
    N_("asked for warm, and nothing shows whether power stayed: {what}"),
    N_("{source} did not rise over the restart: {counts}"),
    N_("asked for warm, and {source} did not stand still: {counts}"),
    # Whether a drive may be used, and what is not as it could be.
    N_(
        "its sectors hold {count} bytes, as in disk arrays: before it can be tested it has to be "
        "formatted to 512 or 4096 on another machine (sg_format --format --size=512), which erases "
        "it"
    ),
    N_("is part of {holders}"),
    N_("same identity as {twins}: can only be read"),
    N_(
        "the serial number is the USB bridge's or dock's, not the drive's own: "
        "released by model and size as well"
    ),
    N_(
        "the serial number is a placeholder that other drives show as well: "
        "released by model and size as well"
    ),
    N_(
        "{hidden} of its {total} are in no namespace and cannot be tested; "
        "only {offered} are tested"
    ),
    N_("{hidden} of its {total} are in no namespace and cannot be tested"),
    N_("a Host Protected Area hides {hidden} of its {total}: they are not tested"),
    N_("a Device Configuration Overlay hides {hidden} of its {total}: they are not tested"),
    N_("an accessible maximum address hides {hidden} of its {total}: they are not tested"),
    N_("it took {number} s to answer"),
    N_("connected with {link}, USB 2: try a port and a cable for USB 3"),
    N_(
        "connected with {link} although it can do {drive} and its port {port}: "
        "clean the contacts, change the cable or the slot"
    ),
    N_("connected with {link} although it can do {drive}; its port can do {port}"),
    N_("connected with {link} although it can do {drive}"),
    # What speaks against what a drive counts.
    N_("the drive was at work for {number} minutes of them"),
    N_("the drive's attribute says {number}"),
    N_("the drive tested itself at {number} hours already: the count was set back"),
    N_("more than the drive could have moved in {number} hours"),
    # Answers to requests.
    N_("campaign {number} started"),
    N_("campaign {number} goes on"),
    N_("campaign {number} does not pause"),
    N_("{kind} on {device} is skipped"),
    N_("the language is {language}, now and at the next start"),
    N_("the keyboard is {layout}, now and at the next start"),
    N_("the time is {time} UTC now; it was {before}"),
)
"""Those in which something is put in; the others are marked where the engine says them.

`{what}` is such a sentence again."""
_PATTERNS = {
    "kind": "[a-z]+",
    **dict.fromkeys(("number", "count"), r"\d+"),
    **dict.fromkeys(("name", "what"), ".+"),
}
"""What is put in where it is not simply the shortest text that fits."""


def name_role(role: str) -> str:
    """`target`, and what else a drive or an array is in a campaign."""
    return _(role)


def measure_roles() -> int:
    """The columns that any of these names takes."""
    return max(len(_(role)) for role in _ROLES)


def name_device(device: str) -> str:
    """What a step runs on: a drive's identity, or the array."""
    return _(ARRAY) if device == ARRAY else device


def say(text: str) -> str:
    """`text` translated, line by line; as it is where it is not one of the sentences."""
    return "\n".join(map(_say_line, text.splitlines()))


def _say_line(text: str) -> str:
    whole = _(text)
    if whole != text:
        return whole
    for pattern, sentence in _compile():
        found = pattern.fullmatch(text)
        if found:
            parts = {name: say_part(name, part) for name, part in found.groupdict().items()}
            return _(sentence).format(**parts)
    # Reasons of which there are several stand in one line.
    first, mark, rest = text.partition("; ")
    return f"{_say_line(first)}; {_say_line(rest)}" if mark else text


def say_part(name: str, part: str) -> str:
    """What is put into a sentence by this name."""
    match name:
        case "what" | "before" | "after":
            return say(part)
        case "proof" | "verdict":
            return _(part)
        case "device":
            return name_device(part)
    return part


@cache
def _compile() -> tuple[tuple[re.Pattern[str], str], ...]:
    # The longest first, as a short one may fit to what a long one says.
    ordered = sorted(SENTENCES, key=len, reverse=True)
    return tuple((re.compile(_make_pattern(sentence)), sentence) for sentence in ordered)


def _make_pattern(sentence: str) -> str:
    pattern = ""
    for literal, name, _spec, _conversion in Formatter().parse(sentence):
        pattern += re.escape(literal)
        if name is not None:
            pattern += f"(?P<{name}>{_PATTERNS.get(name, '.+?')})"
    return pattern
