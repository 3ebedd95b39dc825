"""What the keys of workloads are about, in a few words and with their units. Pure.

What they may be and what holds where a plan is silent is the schema's to say.
"""

from tui.language import N_, _
from tui.plan_keys import PlanKey

_WORDS = {
    "cache_size": N_("the cache's size"),
    "data_size": N_("size of the database's dump"),
    "distribution": N_("where random tests go"),
    "file_size": N_("size of each file"),
    "file_sizes": N_("sizes of the files"),
    "filesystem": N_("made on the drive; or none"),
    "free_ram": N_("RAM left free by ballast"),
    "idle_timeout": N_("wait for the drive's rest"),
    "iodepth": N_("I/Os under way at once"),
    "ioengine": N_("how fio asks the kernel"),
    "max_rounds": N_("then no steady state is had"),
    "max_unreadable": N_("more of it ends the step"),
    "memory_max": N_("RAM of a bounded test"),
    "modes": N_("compared; of an array alone"),
    "norandommap": N_("random: blocks repeated"),
    "numjobs": N_("jobs at once, sharing size"),
    "on": N_("drives by serial, or array"),
    "operations": N_("done with each file"),
    "options": N_("fio's own, instead of tests"),
    "page_cache": N_("state before each test"),
    "passes": N_("how all tickets are read"),
    "power_cycle": N_("read again after a power-off"),
    "precondition": N_("overwritten so often first"),
    "record_sizes": N_("read or written at once"),
    "repeat": N_("all passes so often"),
    "runtime": N_("for a test, at most"),
    "sample": N_("share of the drive, 1.0: all"),
    "seed": N_("the same: the same accesses"),
    "set_sizes": N_("working sets in their order"),
    "size": N_("read and written in all"),
    "steady_state": N_("rounds till five are alike"),
    "test": N_("the drive's: minutes, hours"),
    "tests": N_("in this order"),
    "tickets": N_("files and their tickets"),
    "warm_up": N_("readings of size, at most"),
}
_SECONDS = frozenset({"runtime", "idle_timeout"})


def describe(key: PlanKey) -> str:
    """What it is about; empty for one that nobody has described."""
    words = _(_WORDS.get(key.name, ""))
    return f"s, {words}" if key.name in _SECONDS else words


def explain(key: PlanKey, default: str) -> str:
    """All that a field of it takes, and what an empty one means, in a line or two."""
    may_be = ", ".join(key.words)
    match key.shape:
        case "list" if key.words:
            may_be = _("some of {words}, with commas").format(words=may_be)
        case "list" if key.name == "on":
            may_be = _("serial numbers or array, with commas")
        case "list":
            may_be = _("sizes with commas, such as 256M, 4G")
        case "table" if key.default:
            may_be = _("names and numbers, such as a=4, b=6")
        case "table":
            may_be = _("names and values, such as rw=randread, bs=8K")
        case "size":
            may_be = _("bytes, or with K M G T: {bounds}").format(bounds=key.bounds)
            may_be = f"{', '.join(key.words)}; {may_be}" if key.words else may_be
        case "number":
            may_be = key.bounds
    silent = _("default: {value}").format(value=default)
    return f"{key.name}: {may_be}\n{silent}"
