"""One setting as people see it: a line of `retinue config`, a row of the settings page."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import SecretStr
from pydantic.fields import FieldInfo

Level = Literal["deployment", "user", "agent", "thread"]
Source = Literal["default", "environment", "saved"]
Kind = Literal["text", "number", "boolean", "choice", "secret", "model"]


@dataclass(frozen=True)
class Row:
    """One line of `retinue config`."""

    name: str
    env: str
    level: Level
    value: Any
    source: Source
    unit: str
    description: str
    group: str = ""
    kind: Kind = "text"
    choices: tuple[str, ...] = ()
    default: Any = None
    restart: bool = True
    """A saved change takes effect with the next start of the service."""
    editable: bool = False

    def as_dict(self) -> dict[str, Any]:
        """The row as plain JSON data."""
        return asdict(self)


def kind_of(field: FieldInfo, asked: Kind | None = None) -> tuple[Kind, tuple[str, ...]]:
    """How a page asks for it, and what there is to choose from."""
    types = [kind for kind in _leaves(field.annotation) if kind is not type(None)]
    choices = tuple(str(kind) for kind in types if isinstance(kind, str))
    if asked is not None:
        return asked, choices
    if choices:
        return "choice", choices
    if any(kind is SecretStr for kind in types):
        return "secret", ()
    if types == [bool]:
        return "boolean", ()
    return ("number", ()) if set(types) <= {int, float} else ("text", ())


def _leaves(annotation: Any) -> list[Any]:
    """The types of an annotation without what is around them; the words of a `Literal` as texts."""
    origin = get_origin(annotation)
    if origin is Literal:
        return list(get_args(annotation))
    if origin is Annotated:
        return _leaves(get_args(annotation)[0])
    if origin in (Union, UnionType):
        return [leaf for each in get_args(annotation) for leaf in _leaves(each)]
    return [annotation]
