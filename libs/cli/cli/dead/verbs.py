"""`retinue dead list | show | replay | drop`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

import typer

from cli.accounts.database import AsJson, DataDir, run, say
from cli.up.refusal import Refused
from store import Session
from store.system import dead
from store.system.dead import STATES, Letter, LetterInfo, State

app = typer.Typer(help="Events that a consumer could not work on.", no_args_is_help=True)

Act = Callable[[Session, UUID], Awaitable[str | None]]
"""Does something to one letter; returns why not, or nothing."""

Ids = Annotated[list[UUID] | None, typer.Argument(help="Their ids.", show_default=False)]
All = Annotated[bool, typer.Option("--all", help="All that nobody has decided about.")]
OfConsumer = Annotated[str | None, typer.Option("--consumer", help="Only those of this consumer.", show_default=False)]


@app.command("list")
def list_letters(
    consumer: OfConsumer = None,
    state: Annotated[str | None, typer.Option(help=f"One of {', '.join(STATES)}.", show_default=False)] = None,
    limit: Annotated[int, typer.Option(help="At most so many.", min=1, max=10_000)] = 100,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """List them, the latest first."""
    wanted = _state(state)

    async def listed(session: Session) -> tuple[list[LetterInfo], bool]:
        found, cursor = await dead.page(session, consumer=consumer, state=wanted, limit=limit)
        return found, cursor is not None

    found, is_cut = run(data_dir, listed)
    lines = [_line(info) for info in found]
    if is_cut:
        lines.append(f"… and more; --limit {limit} are shown.")
    say([_data(info) for info in found], as_json, "\n".join(lines) or "No dead letters.")


@app.command("show")
def show_letter(
    letter_id: Annotated[UUID, typer.Argument(help="Its id.")], data_dir: DataDir = None, as_json: AsJson = False
) -> None:
    """Show one with its headers and its payload."""

    async def found(session: Session) -> Letter | None:
        return await dead.get(session, letter_id)

    letter = run(data_dir, found)
    if letter is None:
        raise Refused("There is no such dead letter.")
    payload = letter.payload.decode(errors="replace")
    data = {**_data(letter.info), "headers": letter.headers, "payload": payload}
    lines = [f"{name}: {value}" for name, value in data.items() if name != "payload" and value is not None]
    say(data, as_json, "\n".join([*lines, "", payload]))


@app.command("replay")
def replay_letters(
    ids: Ids = None,
    all_of_them: All = False,
    consumer: OfConsumer = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Send events again, each to its consumer alone. What fails again is parked again."""

    async def replay(session: Session, letter_id: UUID) -> str | None:
        try:
            return None if await dead.replay(session, letter_id) else "There is no such dead letter."
        except dead.NotReplayable as wrong:
            return str(wrong)

    _on_each(_chosen(ids, all_of_them, consumer, data_dir), replay, "replayed", data_dir, as_json)


@app.command("drop")
def drop_letters(
    ids: Ids = None,
    all_of_them: All = False,
    consumer: OfConsumer = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Forget events for good: their consumer will never work on them."""
    chosen = _chosen(ids, all_of_them, consumer, data_dir)
    if chosen and not yes:
        what = "1 dead letter" if len(chosen) == 1 else f"{len(chosen)} dead letters"
        typer.confirm(f"Forget {what} for good?", abort=True, err=True)

    async def drop(session: Session, letter_id: UUID) -> str | None:
        return None if await dead.drop(session, letter_id) else "There is no such dead letter."

    _on_each(chosen, drop, "dropped", data_dir, as_json)


def _chosen(ids: list[UUID] | None, all_of_them: bool, consumer: str | None, data_dir: Any) -> list[UUID]:
    if bool(ids) == all_of_them:
        raise Refused("Name ids, or --all (with --consumer for those of one).")
    if ids:
        if consumer is not None:
            raise Refused("--consumer chooses among --all; ids are ids.")
        return list(dict.fromkeys(ids))

    async def parked(session: Session) -> list[UUID]:
        return await dead.undecided(session, consumer)

    return run(data_dir, parked)


def _on_each(ids: list[UUID], act: Act, done: str, data_dir: Any, as_json: bool) -> None:
    """In one transaction; what cannot be done is said and keeps no other from being done."""

    async def work(session: Session) -> list[tuple[UUID, str | None]]:
        return [(letter_id, await act(session, letter_id)) for letter_id in ids]

    results = run(data_dir, work) if ids else []
    data = [{"id": str(letter_id), "outcome": "refused" if why else done, "reason": why} for letter_id, why in results]
    lines = [f"{letter_id}  {why or done}" for letter_id, why in results]
    say(data, as_json, "\n".join(lines) or "No dead letters.")
    if any(why for _, why in results):
        raise typer.Exit(1)


def _state(given: str | None) -> State | None:
    if given is None:
        return None
    for state in STATES:
        if state == given:
            return state
    raise Refused(f"There is no state {given!r}; there are {', '.join(STATES)}.")


def _data(info: LetterInfo) -> dict[str, Any]:
    return {name: _plain(value) for name, value in asdict(info).items()}


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else str(value) if isinstance(value, UUID) else value


def _line(info: LetterInfo) -> str:
    reason = f"{info.reason_type}: {info.reason}".splitlines()[0]
    return (
        f"{info.id}  {info.parked_at:%Y-%m-%d %H:%M}  {info.state:<8}  {info.consumer}  "
        f"{info.deliveries} deliveries  {reason[:100]}"
    )
