# SPDX-License-Identifier: Apache-2.0
"""The role of each selected drive, as keys are pressed. Pure."""

from collections.abc import Iterable, Mapping
from typing import Literal

type Role = Literal["target", "control", "backing", "cache"]
type Roles = Mapping[int, Role]
"""Of the picked drives, by their numbers."""

MEMBERS: tuple[Role, Role] = ("backing", "cache")


def find_holder(roles: Roles, role: Role) -> int | None:
    """The first drive with `role`."""
    return next((number for number, other in roles.items() if other == role), None)


def has_members(roles: Roles) -> bool:
    """Whether a drive was put into the array."""
    return any(role in MEMBERS for role in roles.values())


def has_others(roles: Roles) -> bool:
    """Whether a target or control was picked."""
    return any(role not in MEMBERS for role in roles.values())


def turn_pick(roles: Roles, number: int) -> dict[int, Role]:
    """Pick a drive as a target, or leave it out."""
    others = _without(roles, number)
    return others if number in roles else others | {number: "target"}


def pick_also(roles: Roles, numbers: Iterable[int]) -> dict[int, Role]:
    """Pick these as targets too; those that are picked stay what they are."""
    new_roles = dict(roles)
    for number in numbers:
        new_roles.setdefault(number, "target")
    return new_roles


def turn_control(roles: Roles, number: int) -> dict[int, Role]:
    """Make a drive a control, or a control a target."""
    is_control = roles.get(number) == "control"
    return _without(roles, number) | {number: "target" if is_control else "control"}


def turn_member(roles: Roles, number: int, *, is_disk: bool) -> dict[int, Role]:
    """Put a drive into the array, then into its other place, then out again as a target.

    A disk becomes the backing drive first, any other the cache drive, unless that alone is taken.
    Who has the place already takes the one that becomes free, or is a target again.
    """
    places: tuple[Role, Role] = ("backing", "cache") if is_disk else ("cache", "backing")
    others, role = _without(roles, number), roles.get(number)
    if role == places[1]:
        return others | {number: "target"}
    if role == places[0]:
        place, given_back = places[1], places[0]
    else:
        free = [place for place in places if find_holder(others, place) is None]
        place, given_back = (free or places)[0], "target"
    holder = find_holder(others, place)
    if holder is not None:
        others[holder] = given_back
    return others | {number: place}


def _without(roles: Roles, number: int) -> dict[int, Role]:
    return {other: role for other, role in roles.items() if other != number}
