# SPDX-License-Identifier: Apache-2.0
"""Plans from text: what is accepted, and every mistake with its line."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]  # it comes without types
import pytest
from referencing import Registry, Resource

from appliance.errors import KaltstartError, PlanError, RefusedError
from appliance.kinds import KINDS
from appliance.plan.model import Boot, Campaign, Plan, PlannedDrive, plan_schema
from appliance.plan.read import (
    MAX_PLAN_BYTES,
    PlanRefusedError,
    decode_plan,
    describe_plan,
    parse_plan,
    read_plan,
)

ROOT = Path(__file__).parents[3]
PLANS = ROOT / "tests/fixtures/plans"
SCHEMA_FILE = ROOT / "appliance/plan/plan.schema.json"
MANUAL = ROOT / "docs/manual/plan.md"
VALID = sorted(PLANS.glob("valid/*.toml"))
INVALID = sorted(PLANS.glob("invalid/*.toml"))
# What a JSON schema cannot say.
BEYOND_SCHEMA = {
    "array-absent",
    "array-clashes",
    "array-not-released",
    "array-unused",
    "contention-array",
    "cool-clashes",
    "cool-install",
    "duplicates",
    "erase-differs",
    "installed-clashes",
    "not-released",
    "path-clashes",
    "replay-clashes",
    "start-without-boot",
    "verify-array",
    "workload-clashes",
    "workload-not-released",
}
# No data to give to a schema.
NOT_TOML = {"syntax", "unfinished", "latin-1"}

MINIMAL = 'version = 1\n[[drive]]\nserial = "A"\nerase = "A"\n[boot]\n'

# The boot test is the array's.
ARRAY = (
    'version = 1\n[[drive]]\nserial = "S"\nrole = "cache"\nerase = "S"\n'
    '[[drive]]\nserial = "H"\nrole = "backing"\nerase = "H"\n[boot]\n'
)


def problems_of(text: str) -> tuple[str, ...]:
    with pytest.raises(PlanError) as caught:
        parse_plan(text)
    return tuple(map(str, caught.value.problems))


def stem(path: Path) -> str:
    return path.stem


def test_defaults() -> None:
    assert parse_plan(MINIMAL) == Plan(
        version=1,
        campaign=Campaign(name="campaign", autostart=False, on_finish="tui"),
        drives=(PlannedDrive(serial="A", wwn="", role="target", erase="A"),),
        boot=Boot(
            cycles=10,
            power=("cold",),
            mode="install",
            boot_set_bytes=256 << 20,
            charts="first-last",
            wake_margin_s=None,
        ),
    )


def test_every_key_arrives() -> None:
    plan = parse_plan((PLANS / "valid/inline.toml").read_text())
    assert plan.campaign.name == 'everything "inline"'
    assert plan.campaign.on_finish == "reboot"
    assert [drive.identity for drive in plan.drives] == ["A 1", "eui.0025385b71b0a1c2"]
    assert [drive.role for drive in plan.drives] == ["target", "control"]
    assert all(drive.released for drive in plan.drives)
    assert plan.boot is not None
    assert plan.boot.boot_set_bytes == 1 << 20
    assert plan.boot.wake_margin_s == 12.5


@pytest.mark.parametrize("path", VALID, ids=stem)
def test_valid_plans_are_accepted(path: Path) -> None:
    assert parse_plan(read_plan(path)).drives


@pytest.mark.parametrize("path", INVALID, ids=stem)
def test_every_mistake_is_reported(path: Path) -> None:
    """The expected exit code and lines are in the file of the same name ending in .txt."""
    exit_code, *lines = path.with_suffix(".txt").read_text().splitlines()
    with pytest.raises(KaltstartError) as caught:
        parse_plan(decode_plan(path.read_bytes()))
    assert isinstance(caught.value, PlanError | PlanRefusedError)
    assert f"exit {caught.value.exit_code}" == exit_code
    assert [str(each) for each in caught.value.problems] == lines
    assert "\n" not in str(caught.value)


def test_a_wrong_release_alone_is_a_refusal() -> None:
    with pytest.raises(RefusedError) as caught:
        parse_plan(MINIMAL.replace('erase = "A"', 'erase = "a"'))
    assert caught.value.exit_code == 3
    assert 'line 4: drive 1: erase: must repeat the serial "A" exactly' in caught.value.message


def test_drives_are_limited() -> None:
    def plan(count: int, what: str) -> str:
        tables = [f'[[drive]]\nserial = "{n}"\nerase = "{n}"\n' for n in range(count)]
        return f"version = 1\n{what}\n" + "".join(tables)

    surface = '[[workload]]\nkind = "surface"'
    assert len(parse_plan(plan(16, "[boot]")).drives) == 16
    mistakes = problems_of(plan(17, "[boot]"))
    assert len(mistakes) == 1
    assert "drive: must be at most 16 [[drive]] tables in a plan with a [boot]" in mistakes[0]
    assert len(parse_plan(plan(64, surface)).drives) == 64
    assert "must be 1 to 64 [[drive]] tables" in problems_of(plan(65, surface))[0]


@pytest.mark.parametrize(
    ("line", "accepted"),
    [
        ("cycles = 1", True),
        ("cycles = 1000", True),
        ("cycles = 3.0", False),
        ('cycles = "3"', False),
        ("cycles = true", False),
        ("cycles = 0xffffffffffffffffffffffffffff", False),
        ("boot_set = 1048576", True),
        ("boot_set = 1048575", False),
        ('boot_set = "16G"', True),
        ('boot_set = "65537M"', False),
        ('boot_set = "256m"', False),
        ("boot_set = 256e6", False),
        ("boot_set = true", False),
        ('power = "warm"', True),
        ('power = ["cold", "warm"]', True),
        ('power = ["warm", "cold"]', True),
        ('power = ["cold"]', True),
        ("power = []", False),
        ('power = "hot"', False),
        ("train = 0", True),
        ("train = 1000", True),
        ("train = -1", False),
        ("train = 1001", False),
        ("wake_margin = 10", True),
        ("wake_margin = 3600.0", True),
        ("wake_margin = 3601", False),
        ('wake_margin = "60"', False),
        ("wake_margin = true", False),
        ("wake_margin = inf", False),
    ],
)
def test_types_and_ranges_are_strict(line: str, *, accepted: bool) -> None:
    text = f"{MINIMAL}{line}\n"
    if accepted:
        parse_plan(text)
    else:
        (problem,) = problems_of(text)
        assert problem.startswith(f"plan.toml line 6: boot.{line.partition(' ')[0]}: must be ")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "is empty"),
        ("\ufeff \n", "is empty"),
        ("#" * (MAX_PLAN_BYTES + 1), "bigger than 64 KiB"),
        ("a = " + "[" * 60_000, "nested too deeply"),
        ("x = 1\ny = " + "9" * 6000 + "\nz = 1", "line 2: a number has too many digits"),
        ("x = 1\na" + ".a" * 30_000 + " = 1", "line 2: a key has more than 64 parts"),
        ("version = 1\nversion = 1\n", "line 2: is not TOML: the key or table is given twice"),
        ("[boot]\n[boot]\n", "line 2: is not TOML: the table is given twice"),
        ("[[drive]]\nserial = WD-1\n", "line 2: is not TOML: the value cannot be read; texts are"),
        ("[[drive]]\nserial = “WD-1”\n", 'texts are in straight quotes, as in "A"'),
        ("[campaign]\nautostart = True\n", "true and false are without quotes, in small letters"),
        ("[boot]\nboot_set = 256M\n", "line 2: is not TOML: something follows the value; texts"),
        ('[[drive]]\nserial = "WD-1\n', "line 2: is not TOML: the closing quote is missing"),
        ('[campaign]\nname = "C:\\d"\n', r"a backslash in quotes is written as \\"),
        ("version: 1\n", "line 1: is not TOML: a line is a key, = and a value, as in version = 1"),
        (
            '{"version": 1}',
            "line 1: is not TOML: a line is a key, = and a value, as in version = 1",
        ),
        ('a = "\x1b[31m"', r"is not TOML: Illegal character '\x1b'"),
    ],
)
def test_what_is_no_plan_at_all(text: str, problem: str) -> None:
    (line,) = problems_of(text)
    assert line.startswith("plan.toml")
    assert problem in line
    assert line.isprintable()


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_what_windows_saves_in_another_encoding_is_told(encoding: str) -> None:
    """Without a mark at its begin it is valid UTF-8, with a zero behind each letter."""
    with pytest.raises(PlanError, match="line 1: is not UTF-8 text; save the file with"):
        decode_plan(MINIMAL.encode(encoding))


def test_a_workload_on_no_drive_is_told_those_that_have_a_name() -> None:
    drives = '[[drive]]\nserial = "A"\n[[drive]]\nrole = "target"\n'
    told = problems_of(f'version = 1\n{drives}[[workload]]\nkind = "surface"\non = "Z"\n')
    assert any(line.endswith('a drive of this plan ("A"), not "Z"') for line in told)
    nameless = drives.replace('serial = "A"\n', "")
    told = problems_of(f'version = 1\n{nameless}[[workload]]\nkind = "surface"\non = "Z"\n')
    assert any(line.endswith('a drive of this plan, not "Z"') for line in told)


def test_drives_that_are_compared_with_each_other_must_be_two() -> None:
    text = (
        'version = 1\n[[drive]]\nserial = "A"\n[[drive]]\nserial = "B"\n[[drive]]\nserial = "C"\n'
        'role = "control"\n[[workload]]\nkind = "contention"\n'
    )
    assert len(parse_plan(text).drives) == 3
    told = "plan.toml line 9: workload 1: compares drives with each other; it needs two or more"
    assert problems_of(text + 'on = "A"\n') == (told,)
    alone = 'version = 1\n[[drive]]\nserial = "A"\n[[workload]]\nkind = "contention"\n'
    assert problems_of(alone) == (told.replace("line 9", "line 4"),)
    assert not any("compares" in each for each in problems_of(alone.replace("[drive]", "[driv]")))


def test_a_plan_of_nothing_but_mistakes_is_cut_short() -> None:
    problems = problems_of("".join(f"k{number} = 1\n" for number in range(1000)))
    assert len(problems) == 100


def test_a_byte_order_mark_and_windows_line_ends_do_no_harm() -> None:
    raw = b"\xef\xbb\xbf" + MINIMAL.replace("\n", "\r\n").encode()
    assert parse_plan(decode_plan(raw)) == parse_plan(MINIMAL)


def test_bytes_are_bounded_before_decoding(tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    path.write_bytes(b"\xff" * (MAX_PLAN_BYTES + 10))
    with pytest.raises(PlanError, match="bigger than 64 KiB"):
        read_plan(path)


def test_a_missing_file_is_a_plan_error(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match=r"other\.toml: cannot be read: No such file"):
        read_plan(tmp_path / "other.toml")


def test_messages_carry_the_given_name_made_harmless() -> None:
    with pytest.raises(PlanError) as caught:
        parse_plan("", name="a\x1b.toml")
    assert str(caught.value.problems[0]).startswith(r"a\x1b.toml: ")


def test_describe_plan() -> None:
    plan = parse_plan(
        MINIMAL.replace("[boot]", '[[drive]]\nserial = "\\u001B"\nerase = "\\u001B"\n[boot]')
    )
    assert describe_plan(plan) == (
        "2 drives, 10 cold boots each, 2 more with a chart; "
        r'erases "A", "\x1b"'
    )


def test_a_cooled_boot_has_reads_enough_to_probe() -> None:
    cooled = 'version = 1\n[[drive]]\nserial = "A"\n[boot]\nmode = "replay"\ncool = "evict"\n'
    (told,) = problems_of(f"{cooled}boot_set = {(2 << 20) - 1}\n")
    assert told.startswith('plan.toml line 7: boot.boot_set: must be at least "2M" with cool = ')
    for rest in ('boot_set = "2M"\n', 'boot_set = "1M"\ntrace = "boot.csv"\n', ""):
        assert parse_plan(cooled + rest).boot is not None
    assert parse_plan(cooled.replace("evict", "none") + 'boot_set = "1M"\n').boot is not None


def test_describe_plan_says_whose_loader_starts_the_boots() -> None:
    assert describe_plan(parse_plan(MINIMAL + 'path = "drive"\n')) == (
        '1 drive, 10 cold boots by the drive\'s own loader each, 2 more with a chart; erases "A"'
    )


def test_describe_plan_says_that_a_started_system_writes() -> None:
    text = MINIMAL.replace("erase", "start") + 'path = "installed"\ncycles = 4\n'
    assert describe_plan(parse_plan(text)) == (
        "1 drive, 4 cold boots of the drive's own system each; erases nothing, but the systems on "
        '"A" write to them'
    )


def test_describe_plan_names_the_workloads_in_their_order() -> None:
    kinds = ["lottery", "fio", "sweep", "sql"]
    tables = [f'[[workload]]\nkind = "{kind}"\n' for kind in kinds]
    tables[2] += 'on = "A"\ncache_size = "1G"\n'
    text = MINIMAL.replace("[boot]\n", "".join(tables))
    assert describe_plan(parse_plan(text)) == (
        '1 drive, lottery, fio on each drive, sweep on "A", sql on each drive; erases "A"'
    )
    assert "each, then lottery, fio on" in describe_plan(
        parse_plan(f'{text}[boot]\ncharts = "none"\n')
    )


def test_the_committed_schema_is_what_is_generated() -> None:
    hint = "run: ci/toolbox run python3 -m appliance.plan.model > appliance/plan/plan.schema.json"
    assert SCHEMA_FILE.read_text() == plan_schema(), hint


@pytest.mark.parametrize(
    "path", [path for path in VALID + INVALID if path.stem not in NOT_TOML], ids=stem
)
def test_the_schema_agrees_with_the_parser(path: Path) -> None:
    validator = jsonschema.Draft202012Validator(json.loads(SCHEMA_FILE.read_text()))
    data = tomllib.loads(path.read_text())
    assert validator.is_valid(data) == (path in VALID or path.stem in BEYOND_SCHEMA)


def test_the_schema_is_known_by_a_name_that_needs_no_network() -> None:
    """A URN with the plan's version: validators find the schema by it, and nothing is fetched."""
    schema = json.loads(SCHEMA_FILE.read_text())
    version = schema["properties"]["version"]["maximum"]
    assert schema["$id"] == f"urn:kaltstart:plan:{version}"
    jsonschema.Draft202012Validator.check_schema(schema)
    registry = Registry().with_resource(schema["$id"], Resource.from_contents(schema))
    validator = jsonschema.Draft202012Validator({"$ref": schema["$id"]}, registry=registry)
    assert validator.is_valid(tomllib.loads(ARRAY))
    assert not validator.is_valid(tomllib.loads(ARRAY.replace('"backing"', '"baking"')))


def test_the_schema_gives_the_defaults_the_parser_uses() -> None:
    schema = json.loads(SCHEMA_FILE.read_text())
    tables: dict[str, Any] = schema["$defs"]
    lines = []
    for header, table in (
        ("[campaign]", "CampaignTable"),
        ("[boot]", "BootTable"),
        ("[array]", "ArrayTable"),
    ):
        lines.append(header)
        for key, value in tables[table]["properties"].items():
            if "default" in value:
                lines.append(f"{key} = {json.dumps(value['default'])}")
    head = ARRAY.removesuffix("[boot]\n")
    assert parse_plan(head + "\n".join(lines)) == parse_plan(f"{ARRAY}[array]\n")


def test_the_manual_has_every_key_of_the_schema() -> None:
    schema = json.loads(SCHEMA_FILE.read_text())
    manual = MANUAL.read_text()
    sections = {
        "## The format": schema,
        "### `[campaign]`": schema["$defs"]["CampaignTable"],
        "### `[[drive]]`": schema["$defs"]["DriveTable"],
        "### `[boot]`": schema["$defs"]["BootTable"],
        "### `[array]`": schema["$defs"]["ArrayTable"],
    }
    workloads = {
        table["properties"]["kind"]["const"]: table
        for table in schema["$defs"].values()
        if "on" in table["properties"]
    }
    assert workloads.keys() == set(KINDS)
    for kind, table in workloads.items():
        common = {key: table["properties"].pop(key) for key in ("kind", "on", "seed")}
        sections[f'### `kind = "{kind}"`'] = table
        sections["### `[[workload]]`"] = {"properties": common}
    for heading, table in sections.items():
        section = manual.split(f"\n{heading}", 1)[1].split("\n#", 1)[0]
        rows = re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)
        assert rows == list(table["properties"]), heading


def test_the_manual_shows_plans_that_work() -> None:
    texts = MANUAL.read_text() + MANUAL.with_name("field-guide.md").read_text()
    plans = re.findall(r"```toml\n(.*?)```", texts, re.DOTALL)
    assert len(plans) == 5 + 3
    for text in plans:
        parse_plan(text)


def test_each_key_of_the_manual_has_an_example_that_is_accepted() -> None:
    for section in MANUAL.read_text().split("\n### `")[1:]:
        heading = section.partition("\n")[0]
        table = section.partition("\n#")[0]
        rows = re.findall(r"^\| `(\w+)` \|.*\| `(\w+ = [^`]+)` \|$", table, re.MULTILINE)
        assert [key for key, _ in rows] == re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)
        for key, example in rows:
            assert example.startswith(f"{key} = ")
            text = _put_into_plan(f"`{heading}", key, example)
            assert example in text
            parse_plan(text)


def _put_into_plan(heading: str, key: str, example: str) -> str:
    minimal = MINIMAL.replace('"A"', '"WD-WX41A"')
    if key in {"modes", "warm_up"}:
        needed = "" if key == "modes" else 'modes = ["writeback"]\n'
        table = f'[[workload]]\nkind = "fio"\non = "array"\n{needed}'
        return f"{ARRAY}[array]\n{table}{example}\n"
    if kind := re.search(r'kind = "(\w+)"', heading):
        needed = {
            "memory_max": 'page_cache = "bounded"\n',
            "max_rounds": "steady_state = true\n",
            "same_blocks": "steady_state = true\n",
            "fresh_first": 'tests = ["seq-write"]\nprecondition = 1\n',
        }.get(key, "")
        if kind[1] == "sweep" and key not in {"cache_size", "set_sizes"}:
            needed = 'cache_size = "1G"\n'
        if kind[1] == "contention":
            minimal = minimal.replace("[boot]", '[[drive]]\nserial = "B"\nerase = "B"\n[boot]')
        return f'{minimal}[[workload]]\nkind = "{kind[1]}"\n{needed}{example}\n'
    if heading.startswith("`[[workload]]`"):
        kind_line = "" if key == "kind" else 'kind = "fio"\n'
        return f"{minimal}[[workload]]\n{kind_line}{example}\n"
    if table_name := re.search(r"\[(campaign|array)\]", heading):
        head = ARRAY if table_name[1] == "array" else minimal
        return f"{head}{table_name[0]}\n{example}\n"
    if key in {"wwn", "role", "model", "size", "label"}:
        return minimal.replace("[boot]", f"{example}\n[boot]")
    if key == "start":
        minimal, example = minimal.replace('erase = "WD-WX41A"', example), 'path = "installed"'
    needed = 'mode = "replay"\n' if key in {"trace", "cool"} else ""
    return minimal if key in {"serial", "erase"} else f"{minimal}{needed}{example}\n"


def test_the_example_on_the_stick_is_a_plan_with_and_without_its_boots() -> None:
    text = (ROOT / "appliance/plan/plan.example.toml").read_text()
    assert not parse_plan(text).drives[0].released
    lines = [
        re.sub(r"^# (erase =|\[boot|cycles =|power =)", r"\1", each) for each in text.split("\n")
    ]
    plan = parse_plan("\n".join(lines))
    assert plan.boot is not None
    assert plan.boot.cycles == 10
    assert plan.drives[0].released
