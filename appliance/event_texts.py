# SPDX-License-Identifier: Apache-2.0
"""The sentence of each event of the log, and the fields it shows.

An event is stored as its name and its fields; its sentence is made from these texts, in English for
the database and the report, in another language where the interface shows it. Pure.
"""

from collections.abc import Mapping
from string import Formatter

from appliance.phrases import N_

_WHAT = "{what}"
_STEP = N_("{kind} on {device}")
_OF_STEP = N_("{kind} on {device}: {what}")
_OF_PART = N_("{kind} on {device}: {part}: {what}")
_OF_ARRAY = N_("{backing} with the cache {cache}: {what}")
_OF_CYCLE = N_("{drive} cycle {cycle}: {what}")

EVENT_TEXTS: dict[str, tuple[str, ...]] = {
    N_("array-apart"): (_OF_ARRAY,),
    N_("array-left"): (_WHAT,),
    N_("array-made"): (_OF_ARRAY,),
    N_("array-making"): (_OF_ARRAY,),
    N_("array-overwritten"): (_WHAT,),
    N_("array-parting"): (_OF_ARRAY,),
    N_("array-remark"): (_OF_ARRAY,),
    N_("attempt-failed"): (N_("{drive} cycle {cycle}, attempt {attempt} of {attempts}: {what}"),),
    N_("autostart-declined"): (
        N_('plan "{plan}": stopped in its countdown, so it does not start automatically again'),
    ),
    N_("ballast-released"): ("",),
    N_("boots-skipped"): (
        N_("{boot} boot of {drive}: by a person"),
        N_("{boots} boots of {drive}: by a person"),
    ),
    N_("campaign-done"): (
        _WHAT,
        # As earlier versions have stored it.
        N_("{samples} samples, {steps} steps, {failures} failed"),
    ),
    N_("campaign-paused"): (_WHAT,),
    N_("campaign-resumed"): ("",),
    N_("campaign-start"): (_WHAT,),
    N_("clearing"): (_WHAT, _OF_STEP),
    N_("conditions-changed"): (_WHAT,),
    N_("cooled"): (
        N_(
            "{drive} before cycle {cycle}: knew {before} of {probed} blocks, and {after} after "
            "{size} GiB of other reads"
        ),
    ),
    N_("cooling"): (N_("{drive} before cycle {cycle}"),),
    N_("cooling-unproven"): (_OF_CYCLE,),
    N_("cycle-armed"): (
        N_("{drive} cycle {cycle}, attempt {attempt}"),
        N_("{drive} cycle {charted} charted, attempt {attempt}"),
    ),
    N_("cycle-done"): (
        N_("{drive} cycle {cycle}: {seconds} s"),
        N_("{drive} cycle {cycle}: not timed"),
    ),
    N_("cycle-failed"): (_OF_CYCLE,),
    N_("data-repaired"): (_WHAT,),
    N_("drive-silent"): (
        N_(
            "{drive}: no answer ({what}); nothing more is asked of it until it answers or is "
            "plugged in again"
        ),
    ),
    N_("file-system"): (_OF_STEP,),
    N_("guarded"): (N_("{drive} was writable and is read-only now"),),
    N_("health-unknown"): (
        N_("{drive} before the campaign: {before}"),
        N_("{drive} after the campaign: {after}"),
    ),
    N_("header-restored"): (_WHAT,),
    N_("identity-unknown"): (
        N_(
            "{drive} does not report its identity, so it is known only by what the kernel has "
            "noted and by what Kaltstart leaves on it: do not change it"
        ),
    ),
    N_("install"): (
        N_("reference OS to {drive} ({path})"),
        N_("reference OS to the array of {backing} ({path})"),
    ),
    N_("install-failed"): (N_("{drive}: {what}"),),
    N_("kaltstart-mended"): (_WHAT,),
    N_("kernel-errors"): (_OF_CYCLE, _OF_STEP),
    N_("keyboard-not-loaded"): (N_("the keys are those of {layout}: {what}"),),
    N_("located"): (
        N_("{drive} ({serial}) is read all over for up to {seconds} s to find its light"),
    ),
    N_("merged"): (_WHAT,),
    N_("no-alarm"): (
        N_("switch the machine on by hand: {what}"),
        N_("{kind} on {device}: switch the machine on by hand: {what}"),
    ),
    N_("no-chart"): (_WHAT,),
    N_("no-unit-times"): (_WHAT,),
    N_("no-copy"): (_WHAT,),
    N_("no-reads"): (_WHAT,),
    N_("no-restart"): (
        N_(
            "it is not yet known whether the stick keeps what is stored on it: if it does not, the "
            "plan would start again after each restart"
        ),
    ),
    N_("no-verdict"): (
        _WHAT,
        N_("the campaign ran on another stick, which made no verdict"),
        N_("{drive}: nothing that the policy limits was measured on it"),
    ),
    N_("not-disarmed"): (_WHAT,),
    N_("not-guarded"): (N_("{drive} is writable and does not answer"),),
    N_("not-located"): (N_("the light of {drive} does not blink: {why}"),),
    N_("not-noted"): (_WHAT,),
    N_("not-released"): (_WHAT,),
    N_("not-thinned"): (_WHAT,),
    N_("pause-asked"): ("",),
    N_("pause-taken-back"): ("",),
    N_("drive-pause-asked"): (N_("{drive}: its steps wait, the others go on"),),
    N_("drive-resumed"): (N_("{drive}: its steps go on"),),
    N_("policy-invalid"): (_WHAT,),
    N_("power-key"): (N_("switching off"),),
    N_("raw-set-aside"): (
        N_(
            "folders of raw/ that belong to no boot or step of this database: {count}; they are in "
            "raw/{folder} now"
        ),
    ),
    N_("ready"): (N_("{version}, {firmware}"),),
    N_("reads-recorded"): (N_("{drive} cycle {cycle} charted: {count} reads"),),
    N_("recording-thinned"): (N_("{rows} rows of activity became parts of longer intervals"),),
    N_("refused"): (_WHAT,),
    N_("rehearsal"): ("",),
    N_("own-system-armed"): (N_("{drive}: the firmware starts {file}"),),
    N_("own-system-reported"): (N_("{drive} cycle {cycle}: {system}"),),
    N_("replay-begun"): (N_("{drive} cycle {cycle}"),),
    N_("report"): (_WHAT,),
    N_("report-deleted"): (N_("{folder}; the database keeps the campaign"),),
    N_("report-failed"): (_WHAT,),
    N_("report-incomplete"): (_WHAT,),
    N_("sample-damaged"): (_WHAT, N_("and {count} more")),
    N_("sample-kept"): (_OF_CYCLE,),
    N_("sample-lost"): (_WHAT,),
    N_("sample-restored"): (_WHAT,),
    N_("sample-unused"): (N_("what was kept on KALTSTART is not used: {why}: {sample}"),),
    N_("set-keyboard"): (_WHAT,),
    N_("set-language"): (_WHAT,),
    N_("set-time"): (_WHAT,),
    N_("shell"): (_WHAT,),
    N_("state-damaged"): (_WHAT,),
    N_("step-done"): (_STEP,),
    N_("step-failed"): (_OF_STEP,),
    N_("step-interrupted"): (_STEP,),
    N_("step-note"): (_OF_STEP, _OF_PART),
    N_("step-power-off"): (_OF_PART,),
    N_("step-power-on"): (N_("{kind} on {device}: {part}: {proof}: {what}"),),
    N_("step-skipped"): (N_("{kind} on {device}: by a person, parts stored before: {parts}"),),
    N_("step-start"): (N_("{kind} on {device}: attempt {attempt}"),),
    N_("step-temperature"): (_OF_STEP,),
    N_("stick-back"): ("",),
    N_("stick-room"): (_WHAT,),
    N_("still-asked"): (N_("{drive} is still being queried"),),
    N_("switches-released"): (_WHAT,),
    N_("take-apart"): (_WHAT,),
    N_("temperature-differs"): (_WHAT,),
    N_("trouble-after-the-end"): (_WHAT,),
    N_("unexpected-boot"): (N_("slot {slot}"),),
    N_("upgraded"): (_WHAT,),
    N_("verdict"): (N_("{drive}: {verdict} ({depth}), by {policy} ({origin})"),),
    N_("verdict-before"): (_WHAT,),
    N_("verdict-kept"): (
        N_(
            "the campaign ran on another stick, and its verdict was made there, by that stick's "
            "policy"
        ),
    ),
    N_("wake-choice"): (_WHAT,),
    N_("wake-margin"): (N_("{margin_s} s; a restart took {took_s} s"),),
    N_("wake-trial"): (_WHAT,),
}
"""By each event's name; of several texts that one holds which has the fields it was stored with."""

UNSHOWN = frozenset({"plan_sha256"})
"""Fields that are stored with an event and are in no sentence."""


def list_fields(text: str) -> set[str]:
    """The names of what is put in."""
    return {name for _, name, _, _ in Formatter().parse(text) if name is not None}


def find_words(event: str, fields: Mapping[str, object]) -> str:
    """The event's sentence with its names. Raises KeyError where it has none with these fields."""
    for text in EVENT_TEXTS[event]:
        if list_fields(text) == fields.keys() - UNSHOWN:
            return text
    raise KeyError(event, *fields)


def tell(event: str, fields: Mapping[str, object]) -> str:
    """The event's sentence in English. Raises KeyError where it has none with these fields."""
    return find_words(event, fields).format(**fields)
