"""The engine's fixed stock of words and sentences, in the language that holds now. Pure.

In the database, in the report and at the console these stay as they are here. What a drive, a tool
or the kernel says is nobody's to translate, nor what the engine tells of a mistake in a plan.
"""

import re
from contextlib import suppress
from functools import cache
from string import Formatter

from tui.campaigns import ARRAY
from tui.language import N_, _
from tui.port.event_texts import tell
from tui.state import Event

# As the database has them; they are translated where they are drawn.
_ROLES = (N_("target"), N_("control"), N_("backing"), N_("cache"), N_("array"))
_POWER = (N_("cold"), N_("warm"), N_("proven"), N_("unproven"))
_CACHE_STATES = (N_("partial"), N_("bypass"), N_("bounded"))
SENTENCES = (
    # What it does, and what it does then.
    N_("{kind} on {device}: {what}"),
    N_("Writing {what}"),
    N_("cycle 1 after all drives are written"),
    N_("go on with campaign {number}"),
    N_("start campaign {name}"),
    N_("power off"),
    N_("restart"),
    N_("power off, then cycle {number} of {drive}"),
    N_("restart, then cycle {number} of {drive}"),
    N_("power off, then {part} of {device}"),
    N_("restarting once to learn how long a shutdown takes"),
    N_("partitions"),
    N_("reference OS"),
    N_("session set"),
    N_("dropping the page cache"),
    N_("Reading into RAM"),
    N_("Filling RAM with ballast"),
    N_("making the cache"),
    N_("making the cache again"),
    N_("making the backing device"),
    N_("looking for the drives"),
    N_("unlocking the drive"),
    N_("clearing the drive"),
    N_("waiting for drive {drive}"),
    N_("{what}: no answer from the drive; seconds"),
    # Why a campaign, a step or a boot ended.
    N_("drive {drive} has not answered for {seconds} s ({what})"),
    N_("drive {drive} does not answer since {time} ({what})"),
    N_("the drive does not answer, and is not asked any more"),
    N_("stopped by a key"),
    N_("paused by a person"),
    N_("by a person"),
    N_("too many restarts; something makes the machine restart"),
    N_("{count} restarts are the limit of this campaign"),
    N_("none of the campaign's drives is in this machine"),
    N_("its state was damaged on the stick"),
    N_("{row}: damaged on the stick, and put back from a copy of the database"),
    N_("{count} restarts of it are missing in the database: the stick forgets what it stores"),
    N_(
        "The plan does not start by itself: it was started before, "
        "and the stick's database no longer knows of it"
    ),
    N_(
        "The plan does not start by itself: drive {drive} carries what a campaign left on it, "
        "and the stick's database does not know of that campaign"
    ),
    N_("the drive's power-cycle count was not read"),
    N_("the count before is not known"),
    N_("no power-cycle count was read"),
    N_("the drive offers no power-cycle count"),
    N_("asked for warm, and nothing shows whether power stayed: {what}"),
    N_("a count of 0 is none"),
    N_("{source} did not rise over the restart: {counts}"),
    N_("asked for warm, and {source} did not stand still: {counts}"),
    N_("the machine did not start anew"),
    # Whether a drive may be used, and what is not as it could be.
    N_("this is the Kaltstart stick itself"),
    N_("this is a Kaltstart stick"),
    N_("has no medium"),
    N_("shows no capacity: it is not ready, or its sectors are of a size that Linux cannot use"),
    N_(
        "its sectors hold {count} bytes, as in disk arrays: before it can be tested it has to be "
        "formatted to 512 or 4096 on another machine (sg_format --format --size=512), which erases "
        "it"
    ),
    N_(
        "it gives no capacity: listen whether it spins up, then try another cable, slot and machine"
    ),
    N_("is part of {holders}"),
    N_("removable medium"),
    N_("has neither serial number nor WWN: can only be read"),
    N_("same identity as {twins}: can only be read"),
    N_(
        "the serial number is the USB bridge's or dock's, not the drive's own: "
        "released by model and size as well"
    ),
    N_(
        "the serial number is a placeholder that other drives show as well: "
        "released by model and size as well"
    ),
    N_("locked by an ATA password: nothing on it can be read or written"),
    N_("an ATA password is set: it will be locked after the next power-off"),
    N_(
        "its ATA security is frozen, as firmware does at start-up: "
        "no secure erase before it was plugged in anew"
    ),
    N_(
        "write-protected by itself: it can only be read; look for a switch on it or on its case, "
        "worn-out flash memory protects itself for good"
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
    N_("connected with 1.5 Gb/s: figures above 150 MB/s cannot be reached here"),
    N_("its write cache is switched off: writes are slower than it can do"),
    N_("knows TRIM, but what it is connected with does not let it through"),
    N_("flash without TRIM: it cannot be told which blocks are free"),
    N_(
        "host-managed zones: it can be written in order only, "
        "and ordinary file systems cannot use it"
    ),
    N_("shingled (host-aware zones): scattered writes become slow"),
    N_("shingled (drive-managed zones): scattered writes become slow"),
    # What speaks against what a drive counts.
    N_("a count below zero"),
    N_("all its bits are set: the drive says nothing by it"),
    N_("it comes from the fixed table an emulated drive answers with"),
    N_("more sectors than the drive has"),
    N_("a drive that answers has been switched on once at least"),
    N_("more than the drive was ever switched on"),
    N_("neither a reserve nor a limit to it: the drive says nothing by it"),
    N_("more than all of it"),
    N_("more hours than such drives exist: it may be minutes or seconds"),
    N_("the drive was at work for {number} minutes of them"),
    N_("the drive's attribute says {number}"),
    N_("the drive tested itself at {number} hours already: the count was set back"),
    N_("more than the drive could have moved in {number} hours"),
    N_("what the drive counts in is not known: it is not in smartmontools' database"),
    # Answers to requests.
    N_("campaign {number} started"),
    N_("campaign {number} goes on"),
    N_("campaign {number} does not pause"),
    N_("it pauses when what runs now is done and stored"),
    N_("a campaign is running: stop it first"),
    N_("{kind} on {device} is skipped"),
    N_("stopped"),
    N_("nothing is running"),
    N_("taking the array apart"),
    N_("switching off"),
    N_("the machine was restarted"),
    N_("the language is {language}, now and at the next start"),
    N_("the keyboard is {layout}, now and at the next start"),
    N_("the time is {time} UTC now; it was {before}"),
)
"""`{what}` is such a sentence again."""
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


def say_event(event: Event) -> str:
    """A line of the log, made from what is stored of it; where that is not known, in English."""
    detail = event.detail
    if event.fields is not None:
        parts = {
            name: _say_part(name, part) if isinstance(part, str) else part
            for name, part in event.fields.items()
        }
        # What another version has stored, or the stick has spoilt.
        with suppress(LookupError, TypeError, ValueError):
            detail = tell(event.what, parts, translate=_)
    if not detail:
        return _(event.what)
    return _("{event} {detail}").format(event=_(event.what), detail=detail)


def _say_line(text: str) -> str:
    for pattern, sentence in _compile():
        found = pattern.fullmatch(text)
        if found:
            parts = {name: _say_part(name, part) for name, part in found.groupdict().items()}
            return _(sentence).format(**parts)
    # Reasons of which there are several stand in one line.
    first, mark, rest = text.partition("; ")
    return f"{_say_line(first)}; {_say_line(rest)}" if mark else text


def _say_part(name: str, part: str) -> str:
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
