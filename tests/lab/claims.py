# SPDX-License-Identifier: Apache-2.0
"""What a page claims of a drive, and whether that is true. Pure.

A claim is read out of the sentences of the page, not out of figures: it is what a reader would take
away. Where no sentence of a known form speaks of a drive, nothing is claimed.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tests.lab.report_page import Finding, Page

BOOTS = "boots"
NOTHING = "nothing"
"""The answer where the page does not speak of it, and should not."""
ANY = "figures"
"""The answer where only the figures are looked at."""
_NUMBER = r"[0-9.]+"
_TIMES = rf"(?P<ratio>{_NUMBER}) times \((?P<low>{_NUMBER}) to (?P<high>{_NUMBER})\)"
_BOOT_FORMS = (
    (rf"from boot (?P<boot>\d+) on {_TIMES} as fast as at its first boot", "gain"),
    (rf"from boot (?P<boot>\d+) on {_TIMES} as slow as at its first boot", "loss"),
    (r"no gain ", "no gain"),
    (r"uneven at first, settled from boot (?P<boot>\d+) on .* which is no proof of", "no gain"),
    (r"uneven at first, settled from boot (?P<boot>\d+) on .* shows neither a gain nor", "open"),
    (r"neither a gain nor none is shown", "open"),
    (r"faster later, and whether by \d+ % is not decided", "open"),
    (r"settled from boot (?P<boot>\d+) on at .* its first boot is missing", "open"),
    (r"settled from boot (?P<boot>\d+) on at .* gains nothing by repeating is not shown", "open"),
    (r"still learning: ", "still learning"),
    (r"not settled( yet)?: ", "open"),
    (r"\d+ valid boots? .* cannot show whether the drive still learns", "open"),
    (r"no valid timed boot", "open"),
)
"""How a finding about boots begins, and what it claims."""
_BUFFER = re.compile(
    rf"random writes were (?P<ratio>{_NUMBER}) times as fast as random reads.*takes writes into a"
    " buffer"
)
_WRITING = re.compile(
    rf"writing fell from (at least )?({_NUMBER}) to ({_NUMBER}) MB/s"
    rf" once ({_NUMBER}) (KiB|MiB|GiB) were written"
)
_MIB = {"KiB": 1 / 1024, "MiB": 1.0, "GiB": 1024.0}
_COMPARED = {
    "fio": rf"(?P<rate>{_NUMBER}) (?:MB/s|IOPS)(?: \((?P<rounds>[^()]*)\))?",
    "sweep": rf"(?P<small>{_NUMBER}) (?:MB/s|IOPS) on \S+, (?P<large>{_NUMBER}) on \S+ \(",
    "surface": rf"(?P<rate>{_NUMBER}) MB/s \(slices from (?P<low>{_NUMBER}) to (?P<high>{_NUMBER})",
    "matrix": rf"(?P<rate>{_NUMBER}) MB/s \((?P<low>{_NUMBER}) to (?P<high>{_NUMBER}), n = \d+\)",
}
"""What follows a drive's name where drives are compared."""
_SQL = "SQL, all phases"
_SQL_APART = 1.05
"""Seconds that differ by less are alike."""
_FIRST_ROUND = re.compile(rf"the first was (?P<ratio>{_NUMBER}) times as (?P<how>fast|slow)")
_APART = 1.5
"""Figures that differ by this factor are called another, as the product does."""
_NO_GAIN = re.compile(r"No gain(?: as large as \d+ %)? from repeating: (?P<times>.*)")
_SETTLED = re.compile(r"(?:^|\. )Settled: (?P<times>.*)")
_NO_GAIN_BESIDE = r": no gain(?: as large as \d+ %)?\. ?$"
_NO_BOOT = "No valid boot"
_LOTTERY = re.compile(
    rf"in the lottery's (?P<name>[^)]*?) pass repeats were (?P<ratio>{_NUMBER}) times as"
    r" (?P<how>fast|slow) as first touches"
)
_LOTTERY_ENDS = (
    (r"no gain\.", "no gain"),
    (r"no proof of a gain: chance does as much in \S+ % of all orders of these reads\.", "no gain"),
    (r"so this does not show the drive\.", "not of the drive"),
)


@dataclass(frozen=True, slots=True)
class Claim:
    """What is reported of one drive in one respect."""

    answer: str
    """gain | loss | no gain | still learning | open (it is said that this is not decided), and what
    else the forms above say."""
    words: str
    """The sentence."""
    numbers: tuple[float, ...] = ()
    """Those that it tells, in their order."""
    is_least: bool = False
    """Whether the first of them is called the least that it may be."""
    objection: str = ""
    """Why it cannot be true whatever the drive is: sentences that contradict each other."""


@dataclass(frozen=True, slots=True)
class Truth:
    """What is true of one drive in one respect, by the model that it is."""

    drive: str
    """Its serial number, as a page shows it."""
    answer: str
    about: str = BOOTS
    """`boots`, `writing`, `buffer`, `surface`, `lottery, direct`, `fio, seq-read`, `sweep,
    rand-read, norandommap`, `matrix, read of 24M, median over record sizes`, `sql, against
    SERIAL`"""
    ranges: tuple[tuple[float, float], ...] = ()
    """The bounds of each number that is reported."""
    may_be_open: bool = False
    """Whether it is also right to say that so few reads do not decide it."""


def judge(page: Page, truth: Truth) -> tuple[str, str]:
    """The sentence that speaks of it, and why it is not true; that is empty where it is."""
    claims = list(read_claims(page, truth.drive, truth.about))
    words = " / ".join(claim.words for claim in claims)
    if not claims and truth.answer == NOTHING:
        return words, ""
    if len(claims) != 1:
        return words, f"{len(claims)} sentences speak of it"
    (claim,) = claims
    if claim.objection:
        return words, claim.objection
    is_left_open = truth.may_be_open and claim.answer == "open"
    if truth.answer not in {claim.answer, ANY} and not is_left_open:
        return words, f"told: {claim.answer}; true: {truth.answer}"
    for place, (number, (low, high)) in enumerate(zip(claim.numbers, truth.ranges, strict=False)):
        is_least = claim.is_least and place == 0
        if not (low <= number or is_least) or number > high:
            return words, f"told: {number:g}; true: {low:g} to {high:g}"
    return words, ""


def read_claims(page: Page, drive: str, about: str) -> Iterator[Claim]:
    """All that is reported of one drive in one respect."""
    kind, _, rest = about.partition(", ")
    match kind:
        case "boots":
            yield from _read_boots(page, drive)
        case "writing":
            yield from _read_writing(page, drive)
        case "buffer":
            yield from _read_buffer(page, drive)
        case "lottery":
            yield from _read_lottery(page, drive, rest)
        case "sql":
            yield from _read_sql(page, drive, rest.removeprefix("against "))
        case "fio" | "sweep" | "surface" | "matrix":
            yield from _read_compared(page, drive, about, _COMPARED[kind])
        case _:
            raise ValueError(f"no claim is about {about!r}")


def _read_boots(page: Page, drive: str) -> Iterator[Claim]:
    """The finding, held against the first sentence and against what is said of a drift."""
    own = page.list_of(drive)
    drifts = any(finding.text.startswith("still drifts after settling") for finding in own)
    for finding in own:
        for form, meant in _BOOT_FORMS:
            match = re.match(form, finding.text)
            if match is None:
                continue
            is_doubted = "may be the machine" in finding.text
            answer = f"{meant}, perhaps the machine's" if is_doubted else meant
            objection = _object(finding, answer, _read_first(page.sentence, drive))
            yield Claim(
                answer="drift" if drifts else answer,
                words=finding.text,
                numbers=tuple(float(each) for each in match.groupdict().values() if each),
                objection=objection,
            )
            break


def _object(finding: Finding, answer: str, first: str) -> str:
    """A finding is the first sentence's, or that says that nothing is decided."""
    expected = answer if finding.kind in {"gain", "flat"} else "open"
    if first != expected:
        return f"the first sentence says {first or 'nothing'} where the finding says {expected}"
    return ""


def _read_first(sentence: str, drive: str) -> str:
    """What it says of the drive: gain | no gain | open; empty: nothing.

    Drives are named in up to three groups: those that gain, those that do not, and the rest.
    """
    decided, _, undecided = sentence.partition("Not decided")
    if f"{drive} starts in " in decided:
        return "gain"
    if f"{drive} " in undecided or sentence.startswith(_NO_BOOT):
        return "open"
    if (match := _SETTLED.search(decided)) and f"{drive} " in match["times"]:
        return "open"
    if match := _NO_GAIN.match(decided):
        return "no gain" if f"{drive} " in match["times"] else ""
    gains, _, rest = decided.rpartition(" at its first boot. ")
    return "no gain" if gains and re.search(_NO_GAIN_BESIDE, rest) and drive in rest else ""


def _read_lottery(page: Page, drive: str, name: str) -> Iterator[Claim]:
    for finding in page.list_of(drive):
        match = _LOTTERY.match(finding.text)
        if match is None or match["name"] != name:
            continue
        ends = [answer for end, answer in _LOTTERY_ENDS if re.search(f"{end}$", finding.text)]
        answer = "gain" if finding.kind == "gain" else next(iter(ends), "open")
        ratio = float(match["ratio"])
        yield Claim(answer, finding.text, (ratio if match["how"] == "fast" else 1 / ratio,))


def _read_writing(page: Page, drive: str) -> Iterator[Claim]:
    """Numbers: MB/s before and behind, MiB in between."""
    for finding in page.list_of(drive):
        if match := _WRITING.match(finding.text):
            at_least, fast, slow, size, unit = match.groups()
            numbers = (float(fast), float(slow), float(size) * _MIB[unit])
            yield Claim("falls", finding.text, numbers, is_least=bool(at_least))


def _read_buffer(page: Page, drive: str) -> Iterator[Claim]:
    """How many times as fast random writes were as random reads."""
    for finding in page.list_of("fio, a buffer for writes"):
        if finding.text.startswith(f"{drive}: ") and (match := _BUFFER.search(finding.text)):
            yield Claim("buffers", finding.text, (float(match["ratio"]),))


def _read_compared(page: Page, drive: str, about: str, form: str) -> Iterator[Claim]:
    """Drives in one sentence, each with its figures: numbers as they stand there."""
    for finding in page.list_of(about):
        for match in _find_drive(finding, drive, form):
            found = match.groupdict(default="")
            numbers = (found.get(name) for name in ("rate", "small", "large", "low", "high"))
            yield Claim(
                _name_figures(found),
                match[0].lstrip(",; "),
                tuple(float(number) for number in numbers if number),
            )


def _read_sql(page: Page, drive: str, other: str) -> Iterator[Claim]:
    """Numbers: the seconds of the drive, and of the other one."""
    form = rf"(?P<seconds>{_NUMBER}) s\b"
    for finding in page.list_of(_SQL):
        for own in _find_drive(finding, drive, form):
            for against in _find_drive(finding, other, form):
                seconds, others = float(own["seconds"]), float(against["seconds"])
                answer = "faster" if seconds * _SQL_APART < others else "not faster"
                yield Claim(
                    answer,
                    f"{own[0].lstrip(',; ')} / {against[0].lstrip(',; ')}",
                    (seconds, others),
                )


def _find_drive(finding: Finding, drive: str, form: str) -> Iterator[re.Match[str]]:
    """What follows a drive's name in a sentence about several."""
    return re.finditer(rf"(?:^|, |; ){re.escape(drive)}: {form}", finding.text)


def _name_figures(found: dict[str, str]) -> str:
    """What a reader takes away from them."""
    if "rounds" in found:
        first = _FIRST_ROUND.search(found["rounds"])
        if first:
            return "falls" if first["how"] == "fast" else "rises"
        if not found["rounds"]:
            return "one run"
        return "steady" if found["rounds"].startswith("last ") else "not steady"
    if "high" in found:
        return "uneven" if float(found["high"]) >= _APART * float(found["low"]) else "level"
    small, large = float(found["small"]), float(found["large"])
    if small >= _APART * large:
        return "falls"
    return "rises" if large >= _APART * small else "level"
