"""What a user may choose for themselves: the gateway keeps it, whoever works for that user goes by it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from chassis.setting_rows import Kind, Row, kind_of
from chassis.settings import ModelId

PREFIX = "user."
"""Before the name of a user's setting where both levels are listed together."""


def _is_a_zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError("must be a time zone such as Europe/Berlin") from None
    return name


Word = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=100)]


def _choice(description: str, group: str, kind: Kind | None = None) -> Any:
    return Field(None, description=description, json_schema_extra={"group": group, "kind": kind})


class UserSettings(BaseModel):
    """Every one is none until it is chosen."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    zone: Annotated[Word, AfterValidator(_is_a_zone)] | None = _choice(
        "your time zone, such as Europe/Berlin: the local time that agents are told; UTC until it is set", "You"
    )
    model: Annotated[ModelId, StringConstraints(max_length=400)] | None = _choice(
        "model of your agents that name none", "Models", "model"
    )
    effort: Annotated[str, StringConstraints(pattern=r"^[a-z]{1,20}$")] | None = _choice(
        "how hard a model thinks where it can be told", "Models"
    )
    search_place: bool | None = _choice(
        "tell a provider that searches the web roughly where you are; off until you turn it on", "Web search"
    )
    place_city: Word | None = _choice("town, as told to a search", "Web search")
    place_region: Word | None = _choice("region, as told to a search", "Web search")
    place_country: Annotated[str, StringConstraints(pattern=r"^[A-Za-z]{2}$")] | None = _choice(
        "country as two letters, as told to a search", "Web search"
    )


def faults_of(changes: Mapping[str, Any]) -> dict[str, str]:
    """What is wrong with new values, by name (without the prefix)."""
    wrong: dict[str, str] = {}
    for name, value in changes.items():
        if name not in UserSettings.model_fields:
            wrong[name] = "There is no such setting."
            continue
        try:
            UserSettings.model_validate({name: value})
        except ValidationError as refused:
            wrong[name] = "; ".join(error["msg"].removeprefix("Value error, ") for error in refused.errors())
    return wrong


def table(saved: Mapping[str, Any]) -> list[Row]:
    """The rows of a user, with what they saved."""
    rows: list[Row] = []
    for name, field in UserSettings.model_fields.items():
        extra: Any = field.json_schema_extra or {}
        kind, choices = kind_of(field, extra.get("kind"))
        value = saved.get(name)
        rows.append(
            Row(
                name=PREFIX + name,
                env="",
                level="user",
                value=value,
                source="default" if value is None else "saved",
                unit="",
                description=field.description or "",
                group=str(extra.get("group", "")),
                kind=kind,
                choices=choices,
                restart=False,
                editable=True,
            )
        )
    return rows
