"""What was used: turns, tokens and costs, for pages and for spreadsheets."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import asdict
from datetime import date
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import Query
from pydantic import BaseModel, Field
from starlette.requests import Request
from starlette.responses import Response

from gateway.answers import forbidden, invalid
from gateway.days import Days, days_of
from gateway.http import Routes
from gateway.parts import CallerOf, Parts, PartsOf
from store.repositories import settings, usage
from store.repositories.usage import Group, Sums, Used
from store.system.usage import used_by_everybody

routes = Routes("usage")

By = Literal["day", "agent", "model", "thread", "user"]

_NAMELESS = {"agent": "An agent that is gone", "model": "No model", "thread": "A thread without a title", "user": ""}
_FORMULAS = ("=", "+", "-", "@", "\t", "\r")


class SumsOut(BaseModel):
    turns: int
    attempts: int = Field(description="Model calls.")
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    reasoning_tokens: int
    cost_micros: int = Field(description="Millionths of a dollar, as far as costs are known.")
    unknown_cost: int = Field(description="Model calls whose cost nobody knows; not in `cost_micros`.")


class UsageOut(SumsOut):
    key: str = Field(description="The day, the id, or the model's name.")
    label: str


class UsagePage(BaseModel):
    items: list[UsageOut] = Field(description="Days in order, all of them; else what cost most first.")
    left_out: int = Field(description="Items beyond the limit; they are in the total.")
    total: SumsOut
    first: date = Field(alias="from")
    last: date = Field(alias="to")
    zone: str


@routes.get(
    "/api/usage",
    scope="read",
    errors=(403,),
    response_model=UsagePage,
    responses={200: {"content": {"text/csv": {"schema": {"type": "string"}}}, "description": "Also as a table"}},
)
async def get_usage(
    request: Request,
    caller: CallerOf,
    parts: PartsOf,
    first: Annotated[date | None, Query(alias="from", description="The first day.")] = None,
    last: Annotated[date | None, Query(alias="to", description="The last day; today, if left out.")] = None,
    by: By = "day",
    zone: Annotated[str | None, Query(max_length=64, description="As in Europe/Berlin; else your settings'.")] = None,
    everyone: Annotated[bool, Query(description="Of all users; for administrators.")] = False,
    limit: Annotated[int, Query(ge=1, le=1000, description="Items at most, beside days.")] = 200,
    format: Annotated[Literal["json", "csv"] | None, Query(description="csv: as with Accept: text/csv.")] = None,
) -> Any:
    """What your turns used, counted on the day on which each ended."""
    zone = zone if zone is not None else await _zone_of(parts, caller.user_id)
    days = days_of(first, last, zone, parts.settings.usage_days)
    if everyone and not (caller.is_admin and caller.may(("admin",))):
        raise forbidden("Only an administrator sees what everybody used.")
    used = await (
        _of_everybody(parts, by, days, limit) if everyone else _of_one(parts, caller.user_id, by, days, limit)
    )
    items = _by_day(used.groups, days) if by == "day" else [_item(group, by) for group in used.groups]
    wants_table = "text/csv" in request.headers.get("accept", "") if format is None else format == "csv"
    if wants_table:
        return _table(items, f"usage-by-{by}-{days.first}-{days.last}.csv")
    total = SumsOut(**asdict(used.total))
    page = {"items": items, "left_out": used.left_out, "total": total, "zone": zone}
    return UsagePage.model_validate({**page, "from": days.first, "to": days.last})


async def _zone_of(parts: Parts, user_id: UUID) -> str:
    """Where the user said to be; UTC, if nowhere."""
    async with parts.store.session(user_id) as session:
        return (await settings.of_user(session)).get("zone") or "UTC"


async def _of_one(parts: Parts, user_id: UUID, by: By, days: Days, limit: int) -> Used:
    if by == "user":
        raise invalid("by: user goes with everyone=true only.", field="by")
    async with parts.store.session(user_id) as session:
        return await usage.used(session, by, days.edges, limit)


async def _of_everybody(parts: Parts, by: By, days: Days, limit: int) -> Used:
    if by == "thread":
        raise invalid("by: what others talk about is theirs; threads are counted for oneself only.", field="by")
    async with parts.store.system() as session:
        return await used_by_everybody(session, by, days.edges, limit)


def _by_day(groups: Sequence[Group], days: Days) -> list[UsageOut]:
    """Every day, also those on which nothing was used."""
    sums = {int(group.key): group.sums for group in groups}
    return [
        UsageOut(key=str(day), label=str(day), **asdict(sums.get(number, Sums())))
        for number, day in enumerate(days.all, 1)
    ]


def _item(group: Group, by: By) -> UsageOut:
    return UsageOut(key=group.key, label=group.label or _NAMELESS[by], **asdict(group.sums))


def _table(items: Sequence[UsageOut], name: str) -> Response:
    names = ["key", "label", *SumsOut.model_fields]
    written = io.StringIO()
    table = csv.writer(written)
    table.writerow(names)
    for item in items:
        table.writerow([_inert(getattr(item, name)) for name in names])
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(written.getvalue(), media_type="text/csv; charset=utf-8", headers=headers)


def _inert(value: Any) -> Any:
    """No text of a person's or a model's becomes a formula in somebody's spreadsheet."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULAS) else value
