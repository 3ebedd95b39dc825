# SPDX-License-Identifier: Apache-2.0
"""Policies from text: what holds without one, what one changes, and every mistake with its line."""

import re
import tomllib
from pathlib import Path

import pytest

from appliance.errors import PlanError
from appliance.verdict.limits import LIMITS
from appliance.verdict.policy import CLASSES, Limit
from appliance.verdict.policy_file import BUILT_IN, DEFAULTS, load_policy, parse_policy, problems_of

ROOT = Path(__file__).parents[3]
MANUAL = ROOT / "docs/manual/policy.md"
POLICIES = ROOT / "tests/fixtures/policies"
INVALID = sorted(POLICIES.glob("*.toml"))


def problems(text: str) -> tuple[str, ...]:
    with pytest.raises(PlanError) as caught:
        parse_policy(text)
    return tuple(map(str, caught.value.problems))


def test_without_a_file_what_is_built_in_holds(tmp_path: Path) -> None:
    policy = load_policy(tmp_path / "policy.toml")
    assert policy.origin == BUILT_IN
    assert policy.text == ""
    assert policy.limits["hdd"]["surface_unreadable_bytes"] == Limit(reject=0)
    assert policy.limits["hdd"]["self_assessment"] == Limit(reject=0, unmeasured="remark")
    # A class says it for its drives alone.
    assert policy.limits["usb"]["self_assessment"] == Limit(reject=0)
    assert "surface_mean_mb_s" not in policy.shared


def test_every_class_judges_what_the_issue_asks_for() -> None:
    policy = parse_policy("")
    for each in CLASSES:
        assert {
            "self_assessment",
            "reallocated_sectors",
            "new_reallocated_sectors",
            "surface_unreadable_bytes",
            "surface_slowest_slice_percent",
            "surface_mean_mb_s",
            "surface_lat_p99_ms",
            "verify_mismatch_bytes",
            "verify_alias_bytes",
            "verify_lost_bytes",
            "worse_than_model_percent",
            "highest_celsius",
        } <= set(policy.limits[each])


def test_a_file_changes_what_it_names_and_nothing_else() -> None:
    built_in = parse_policy("")
    policy = parse_policy(
        'version = 1\n[policy]\nname = "ours"\n'
        "[all]\nsurface_mean_mb_s = { reject = 1 }\ncritical_warning = {}\n"
        "[hdd]\nsurface_mean_mb_s = { reject = 50 }\nreallocated_sectors = { remark = 5 }\n"
    )
    assert policy.name == "ours"
    assert re.fullmatch(r"policy\.toml [0-9a-f]{8}", policy.origin)
    assert policy.hybrid_models == built_in.hybrid_models
    # [all] of the file goes before a class of what is built in, the file's class before both.
    assert policy.limits["nvme"]["surface_mean_mb_s"] == Limit(reject=1)
    assert policy.limits["hdd"]["surface_mean_mb_s"] == Limit(reject=50)
    # As a whole: the built-in rejection above 10 is gone.
    assert policy.limits["hdd"]["reallocated_sectors"] == Limit(remark=5)
    assert policy.limits["usb"]["critical_warning"] == Limit()
    assert policy.limits["usb"]["pending_sectors"] == built_in.limits["usb"]["pending_sectors"]


@pytest.mark.parametrize("path", INVALID, ids=lambda path: path.stem)
def test_every_mistake_is_reported_at_once(path: Path) -> None:
    """The expected lines are in the file of the same name ending in .txt."""
    assert INVALID
    expected = path.with_suffix(".txt").read_text().splitlines()
    assert list(problems(path.read_text())) == expected


def test_an_unknown_key_does_not_hide_what_is_never_reached() -> None:
    found = problems("version = 1\n[hdd]\ncrc_errors = { remark = 5, reject = 2, rejekt = 1 }\n")
    assert len(found) == 2
    assert any("is never reached" in each for each in found)


@pytest.mark.parametrize("name", ["policy.toml.txt", "Policy.toml.toml"])
def test_a_policy_with_a_hidden_ending_is_named(tmp_path: Path, name: str) -> None:
    """Windows shows it as policy.toml: no drive is judged by other limits than those in it."""
    (tmp_path / name).write_text("version = 1")
    path = tmp_path / "policy.toml"
    assert problems_of(path) == (f"{name}: its name must be policy.toml; it was not read",)
    for other in ("._policy.toml", "policy.example.toml", "old policy.toml"):
        (tmp_path / other).write_text("")
    (tmp_path / name).rename(path)
    assert problems_of(path) == ()


def test_an_empty_file_is_no_policy(tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    path.write_text(" \n")
    assert problems_of(path) == ("policy.toml: is empty; a policy starts with version = 1",)
    path.unlink()
    assert problems_of(path) == ()
    path.mkdir()
    assert "cannot be read" in problems_of(path)[0]
    path.rmdir()
    path.write_bytes(b"version = 1\n# \xe4\n")
    assert problems_of(path)[0].startswith("policy.toml line 2: is not UTF-8 text")


@pytest.mark.parametrize(
    ("transport", "rotational", "model", "wanted"),
    [
        ("sata", True, "WDC WD10EZEX", "hdd"),
        ("sas", True, "", "hdd"),
        ("sata", False, "Samsung SSD 860", "sata-ssd"),
        ("nvme", False, "anything SSHD", "nvme"),
        ("usb", True, "Portable", "usb"),
        ("sata", True, "ST1000LX015-1U7172", "hybrid"),
        ("sas", True, "SEAGATE ST1000DX001-1CM162", "hybrid"),
        ("sas", True, "SEAGATE FOO ST1000DX001", "hdd"),
        ("sata", True, "WDC WD40E31X-00HY4A0", "hybrid"),
        ("sas", True, "SEAGATE ST600MX0052", "hybrid"),
        ("sata", True, "ST9808212AS", "hybrid"),
        ("sata", True, "SAMSUNG HM16HJI", "hybrid"),
        ("sata", True, "SAMSUNG HM160HI", "hdd"),
        # FireCuda 3.5: of the same numbers as a hybrid, and a plain disk (drivedb.h).
        ("sata", True, "ST4000DX001-1CE168", "hybrid"),
        ("sata", True, "ST4000DX005-3GH101", "hdd"),
        ("sata", True, "Lab sshd", "hybrid"),
        ("sas", False, "TOSHIBA PX05SMB040", "sata-ssd"),
        ("scsi", False, "", "sata-ssd"),
        ("scsi", True, "", "hdd"),
        ("other", False, "", None),
        ("other", True, "", None),
    ],
)
def test_the_class_comes_from_the_drive_and_the_models(
    *,
    transport: str,
    rotational: bool,
    model: str,
    wanted: str | None,
) -> None:
    policy = parse_policy("")
    found = policy.class_of(transport=transport, rotational=rotational, model=model)
    assert found == wanted


def test_a_drive_that_calls_itself_a_hybrid_is_one() -> None:
    policy = parse_policy("version = 1\n[policy]\nhybrid_models = []\n")
    assert policy.class_of(transport="sata", rotational=True, model="SSHD") == "hdd"
    assert policy.class_of(transport="sata", rotational=True, model="", hybrid=True) == "hybrid"


def test_example_manual_and_schema_name_the_same_limits() -> None:
    """The example is what is built in; a limit without a built-in value is in a comment."""
    text = DEFAULTS.read_text()
    data = tomllib.loads(text)
    assert set(data) == {"version", "policy", "all", *CLASSES}
    named = set(re.findall(r"^(?:# )?(\w+) = \{", text, re.MULTILINE))
    assert named == set(LIMITS)
    documented = re.findall(r"^\| `(\w+)` \|", MANUAL.read_text(), re.MULTILINE)
    assert documented == list(LIMITS)


def test_what_the_example_has_in_comments_would_be_good() -> None:
    text = DEFAULTS.read_text()
    for name, value in re.findall(r"^# (\w+) = (\{.*\})", text, re.MULTILINE):
        parse_policy(f"version = 1\n[all]\n{name} = {value}\n")


def test_the_examples_of_the_manual_are_good() -> None:
    examples = re.findall(r"```toml\n(.*?)```", MANUAL.read_text(), re.DOTALL)
    assert examples
    for example in examples:
        parse_policy(example)


def test_the_image_has_the_example_beside_the_plan() -> None:
    finalize = (ROOT / "mkosi.finalize").read_text()
    assert f"appliance/verdict/{DEFAULTS.name}" in finalize
    assert "fat/policy.example.toml" in finalize
