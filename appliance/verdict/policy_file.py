# SPDX-License-Identifier: Apache-2.0
"""The policy: which results are good enough, per class of drive.

Owns the way from the text of a `policy.toml` (contract: docs/manual/policy.md) to a policy without
mistakes; its tables are `verdict/policy`', what can be limited `verdict/limits`'. What
`policy.toml` does not say is as in `policy_defaults.toml`, beside this file. Pure but for
`load_policy`, which only reads.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from appliance.errors import PlanError
from appliance.phrases import N_, Phrase
from appliance.plan.read import find_misnamed
from appliance.toml.write import EMPTY, MAX_BYTES, decode, locate, make_error, parse, tell_problems
from appliance.verdict.policy import CLASSES, DriveClass, Limit, PolicyTables, read_tables

# "scsi" is what does not say how it is connected: a controller that hides it, or a virtual one.
_WITH_SATA_SSDS = frozenset({"sata", "sas", "scsi"})
BUILT_IN = "built-in"
DEFAULTS = Path(__file__).with_name("policy_defaults.toml")
"""Complete and commented: what holds without a `policy.toml`, and the example on the stick."""


@dataclass(frozen=True, slots=True)
class Policy:
    """A policy without mistakes."""

    name: str
    origin: str
    """`built-in`, or `policy.toml` and the beginning of its SHA-256."""
    text: str
    """Of `policy.toml`; empty where there is none."""
    hybrid_models: tuple[str, ...]
    limits: Mapping[DriveClass, Mapping[str, Limit]]
    shared: Mapping[str, Limit]
    """For a drive of no known class: what holds for all of them."""

    def class_of(
        self, *, transport: str, rotational: bool, model: str, hybrid: bool = False
    ) -> DriveClass | None:
        """The class of a drive, or the nearest; None where what is known of it does not say.

        `hybrid`: it says itself that it is one. Others are known by their model alone.
        """
        if transport == "usb":
            return "usb"
        if transport == "nvme":
            return "nvme"
        if hybrid or self._is_hybrid_model(model.upper()):
            return "hybrid"
        if rotational:
            return None if transport == "other" else "hdd"
        return "sata-ssd" if transport in _WITH_SATA_SSDS else None

    def _is_hybrid_model(self, name: str) -> bool:
        # SCSI and USB put the vendor's name before it.
        names = {name, name.partition(" ")[2]} - {""}
        patterns = [pattern.upper() for pattern in self.hybrid_models]
        return any(fnmatchcase(model, pattern) for model in names for pattern in patterns)

    def limits_of(self, drive_class: DriveClass | None) -> Mapping[str, Limit]:
        """The limits of a class, or those that all classes share."""
        return self.shared if drive_class is None else self.limits[drive_class]


def load_policy(path: Path) -> Policy:
    """The policy in `path`, or the built-in one where there is no such file.

    Raises PlanError with every mistake.
    """
    text = read_policy(path)
    return parse_policy(text, name=path.name)


def read_policy(path: Path) -> str:
    """The text of the policy in `path`; empty where there is none. Raises PlanError."""
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        # Its limits are wanted: a drive must not be accepted by others.
        if misnamed := find_misnamed(path):
            problem = Phrase(N_("its name must be {file}; it was not read"), file=path.name)
            raise make_error(misnamed, problem) from None
        return ""
    except OSError as error:
        raise make_error(
            path.name, Phrase(N_("cannot be read: {error}"), error=error.strerror)
        ) from error
    text = decode(raw, name=path.name, kind="policy")
    if not text.strip():
        # No file and an empty one are different things: an empty one was put there on purpose.
        raise make_error(path.name, EMPTY["policy"])
    return text


def parse_policy(text: str, *, name: str = "policy.toml") -> Policy:
    """The policy in `text`; an empty text is the built-in one. Raises PlanError."""
    defaults = _parse_tables(DEFAULTS.read_text(encoding="utf-8"), name=DEFAULTS.name)
    overrides = _parse_tables(text, name=name) if text else PolicyTables("", None, {})
    digest = hashlib.sha256(text.encode()).hexdigest()[:8]
    layers = (defaults, overrides)

    def merge(*tables: str) -> dict[str, Limit]:
        merged: dict[str, Limit] = {}
        for layer in layers:
            for table in tables:
                merged |= layer.tables.get(table, {})
        return merged

    models = defaults.hybrid_models if overrides.hybrid_models is None else overrides.hybrid_models
    return Policy(
        name=overrides.name or defaults.name,
        origin=f"{name} {digest}" if text else BUILT_IN,
        text=text,
        hybrid_models=models or (),
        limits={drive_class: merge("all", drive_class) for drive_class in CLASSES},
        shared=merge("all"),
    )


def _parse_tables(text: str, *, name: str) -> PolicyTables:
    text = text.removeprefix("\ufeff")
    tables, problems = read_tables(parse(text, name=name, kind="policy"))
    if problems:
        raise tell_problems(name, locate(problems, text=text, name=name))
    return tables


def problems_of(path: Path) -> tuple[str, ...]:
    """Every mistake of the policy in `path`, one line each; nothing where it is good or absent."""
    try:
        load_policy(path)
    except PlanError as error:
        return tuple(map(str, error.problems))
    return ()
