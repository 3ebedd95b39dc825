"""Values of the engine's JSON files as the dataclasses that the pages show."""

from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from types import UnionType
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


def read_record[T: DataclassInstance](make: type[T], value: Mapping[str, Any], **own: Any) -> T:  # noqa: ANN401
    """A `make` of a JSON object whose keys are called like its fields, but for a `raw_` before one.

    `own` are fields that are made otherwise. A list becomes a tuple, an object the dataclass that
    the field is of. Raises LookupError where a key is missing whose field has no default.
    """
    found = dict(own)
    for name, (hint, has_default) in _list_fields(make).items():
        key = name.removeprefix("raw_")
        if name not in own and (key in value or not has_default):
            found[name] = _convert(hint, value[key])
    return make(**found)


@cache
def _list_fields(make: type[Any]) -> dict[str, tuple[Any, bool]]:
    hints = get_type_hints(make)
    return {each.name: (hints[each.name], each.default is not MISSING) for each in fields(make)}


def _convert(hint: Any, value: Any) -> Any:  # noqa: ANN401
    if isinstance(hint, UnionType) and value is not None:
        hint = next(each for each in get_args(hint) if each is not type(None))
    if isinstance(value, list):
        return tuple(_convert(get_args(hint)[0], each) for each in value)
    if is_dataclass(hint) and isinstance(hint, type):
        return None if value is None else read_record(hint, value)
    return hint(value) if hint in {int, float} and value is not None else value
