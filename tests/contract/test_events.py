"""Events keep their promises to those who wrote them down, stored them, or read them with older code.

One JSON Schema a released event (`schemas/`), frozen payloads a version (`examples/`, parsed for ever), and habits
that a reader of one event may expect of the next.
"""

from __future__ import annotations

import json
import re
import types
from datetime import UTC
from enum import StrEnum
from pathlib import Path
from typing import Any, Union, get_args, get_origin
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import contracts.settings
import contracts.turns  # noqa: F401 - registers its events
from contracts.event import EVENTS, Event
from contracts.subjects import STREAMS
from tests.kit.snapshot import held_to

HERE = Path(__file__).parent
EXAMPLES = sorted(HERE.glob("examples/*.v*/*.json"))
ENVELOPE = {"id", "occurred_at", "user_id", "correlation_id", "causation_id"}

SCALARS = (UUID, int, bool, StrEnum)
TEXTS = {"correlation_id", "ended_by"}
"""Texts that a fact may carry: words of ours from a short list, never a person's."""


@pytest.mark.parametrize("name", sorted(EVENTS))
def test_the_schema_is_the_one_that_was_released(name: str) -> None:
    """A new optional field is a new snapshot; anything else is a new version beside the old."""
    schema = json.dumps(EVENTS[name].model_json_schema(mode="validation"), indent=2, sort_keys=True)
    held_to(HERE / "schemas" / f"{name}.json", schema + "\n")


@pytest.mark.parametrize("name", sorted(EVENTS))
def test_every_event_has_frozen_examples(name: str) -> None:
    kept = {example.stem for example in EXAMPLES if example.parent.name == name}
    assert {"first", "least", "from-the-future"} <= kept, "see tests/contract/examples/README.md"


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_frozen_payloads_are_read_for_ever(example: Path) -> None:
    """Also those of versions that nobody sends any more: they may be stored, parked or under way."""
    assert example.parent.name in EVENTS, "a released version stays readable"
    payload = json.loads(example.read_text())
    event = EVENTS[example.parent.name].model_validate_json(example.read_text())
    for field, value in payload.items():
        if field in type(event).model_fields:
            assert json.loads(event.model_dump_json(include={field}))[field] == value


def test_nothing_is_kept_for_events_that_never_were() -> None:
    assert {path.stem for path in HERE.glob("schemas/*.json")} == set(EVENTS)
    assert {example.parent.name for example in EXAMPLES} == set(EVENTS)


@pytest.mark.parametrize("name", sorted(EVENTS))
@settings(deadline=None, max_examples=30)
@given(data=st.data())
def test_every_event_comes_back_as_it_went(name: str, data: st.DataObject) -> None:
    event = data.draw(any_event(EVENTS[name]))
    assert type(event).model_validate_json(event.to_bytes()) == event
    assert len(event.to_bytes()) < 4096, "facts carry ids and small scalars; who needs more reads the row"


@pytest.mark.parametrize("name", sorted(EVENTS))
@settings(deadline=None, max_examples=30)
@given(data=st.data())
def test_every_event_is_kept_by_exactly_one_stream(name: str, data: st.DataObject) -> None:
    event = data.draw(any_event(EVENTS[name]))
    kept_by = [stream.name for stream in STREAMS for subject in stream.subjects if _matches(subject, event.subject())]
    assert kept_by == ["FACT" if event.is_fact else "TURN"]


@pytest.mark.parametrize("name", sorted(EVENTS))
def test_names_subjects_and_fields_follow_the_habits(name: str) -> None:
    event = EVENTS[name]
    assert re.fullmatch(r"[a-z]+(_[a-z]+)*\.[a-z]+(_[a-z]+)*\.v[1-9][0-9]*", name)
    assert (name.split(".")[1] != "requested") == event.is_fact, "facts are past, requests are *.requested"
    assert event.__doc__ not in (None, Event.__doc__), "when it happens, and who cares"
    assert set(event.model_fields) >= ENVELOPE
    for field, info in event.model_fields.items():
        if field not in ENVELOPE | TEXTS:
            kinds = _kinds(info.annotation)
            assert all(issubclass(kind, SCALARS) for kind in kinds), f"{field}: no texts and no structures in events"


def any_event(cls: type[Event]) -> st.SearchStrategy[Event]:
    fields = {name: _values(info.annotation) for name, info in cls.model_fields.items()}
    return st.builds(cls, **fields)


def _values(annotation: Any) -> st.SearchStrategy[Any]:
    if annotation.__class__ is type and issubclass(annotation, UUID):
        return st.uuids()
    if getattr(annotation, "__name__", "") == "datetime":
        return st.datetimes(timezones=st.just(UTC))
    if get_origin(annotation) in (Union, types.UnionType):
        return st.one_of(*map(_values, get_args(annotation)))
    if annotation is str:
        return st.text(st.characters(codec="utf-8"), max_size=60)
    return st.none() if annotation is type(None) else st.from_type(annotation)


def _kinds(annotation: Any) -> list[type]:
    if get_origin(annotation) in (Union, types.UnionType):
        return [kind for each in get_args(annotation) if each is not type(None) for kind in _kinds(each)]
    return [annotation]


def _matches(pattern: str, subject: str) -> bool:
    """NATS subjects: `*` is one token, `>` the rest. A fact's name is three tokens, the last its version."""
    wanted, given = pattern.split("."), subject.split(".")
    if wanted[-1] == ">":
        return len(given) >= len(wanted) and all(w in ("*", g) for w, g in zip(wanted[:-1], given, strict=False))
    return len(wanted) == len(given) and all(w in ("*", g) for w, g in zip(wanted, given, strict=True))
