"""Writes the pages that are read from the code: events, HTTP routes, and the stories of tests/flow.

`.venv/bin/python -m tests.kit.reference_pages` writes them; a contract test holds them to the code.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

from bus.permissions import PERMISSIONS
from contracts.event import EVENTS, Event
from contracts.subjects import (
    CONSUMERS,
    DUPLICATE_WINDOW,
    GIB,
    RPC_FOUND,
    RPC_KEY_TEST,
    RPC_MODELS,
    RPC_PROVIDERS,
    RPC_PULL,
    RPC_PULL_STOP,
    RPC_REPLIES,
    RPC_SETTINGS,
    STREAMS,
    StreamSpec,
    again_subject,
    kept_subjects,
)
from gateway.app import make_api
from tests.kit.routing import ROOT, SERVICES, covers, source_of, subject_of, takers, ways

COMMAND = ".venv/bin/python -m tests.kit.reference_pages"
WRITTEN = f"Written by `{COMMAND}` from the code; do not edit."

EVENTS_PAGE = ROOT / "docs/reference/events.md"
API_PAGE = ROOT / "docs/reference/api.md"
WALK = ROOT / "tests/flow/test_user_message.py"
STORIES = {
    story: ROOT / "docs/flows" / f"{story.stem.removeprefix('test_').replace('_', '-')}.md"
    for story in sorted(ROOT.glob("tests/flow/test_*.py"))
}

CORE = {
    "log.*": "the chunk log of a turn: batches of finished SSE bytes ([how they are read](stream.md))",
    **{
        again_subject(each): f"an event sent again to `{each.name}` alone: replayed, or found missing "
        "([dead letters](../operate/dead-letters.md))"
        for each in CONSUMERS
    },
    "ctl.stop.*": "somebody asked this turn to stop; a shortcut, the row is the truth; never kept",
    RPC_MODELS: "which models a user may choose from",
    RPC_PROVIDERS: "which providers serve a user, and whether they answer",
    RPC_KEY_TEST: "whether a key works; the key travels sealed",
    RPC_FOUND: "which local servers of models answer",
    RPC_SETTINGS: "the runner's settings, and what is wrong with new values",
    RPC_PULL: "fetch a model into an Ollama; answered by progress",
    RPC_PULL_STOP: "stop that; each runner hears it",
    RPC_REPLIES: "answers to those, each under a token of its question",
}


# Events


def events_page() -> str:
    lines = [
        "# Events, subjects, streams",
        "",
        f"{WRITTEN} The envelope of every event is [`contracts/event.py`](../../libs/contracts/contracts/event.py); "
        "`<user>` and `<turn>` are UUIDs. Facts leave by the outbox, in no order; a request is a wake-up, and whoever "
        f"takes it asks Postgres what there is to do. A second message with the same `Nats-Msg-Id` within "
        f"{DUPLICATE_WINDOW} s is dropped by JetStream.",
        "",
    ]
    for name, event in sorted(EVENTS.items()):
        lines += _event(name, event)
    lines += ["## Other subjects", "", *_table(("subject", "what it is", "said by", "heard by"), _others()), ""]
    lines += ["## Streams", "", *_table(("stream", "subjects", "kept", "when full"), map(_stream, STREAMS)), ""]
    lines += ["## Consumers", ""]
    rows = [
        (
            f"`{c.stream}/{c.name}`",
            _codes(c.filters),
            f"{c.ack_wait} s",
            f"{c.max_ack_pending:,}",
            str(c.max_deliver),
        )
        for c in CONSUMERS
    ]
    lines += _table(
        ("consumer", "subject", "redelivered after", "unacknowledged at most", "parked after deliveries"), rows
    )
    lines += ["", "## What a service may say and hear", ""]
    lines += ["The broker refuses the rest. A contract test holds this to what the code does: no less, no more.", ""]
    rows = [
        (f"`{user}`", _codes(PERMISSIONS[user]["publish"]), _codes(PERMISSIONS[user]["subscribe"])) for user in SERVICES
    ]
    lines += _table(("user", "publish", "subscribe"), rows)
    return "\n".join(lines) + "\n"


def _event(name: str, event: type[Event]) -> list[str]:
    subject = subject_of(name).replace("*", "<user>")
    heard = takers(subject_of(name), "hears")
    own = [field for field in event.model_fields if field not in Event.model_fields]
    rows = [(f"`{field}`", _type(event, field), _needed(event, field)) for field in own]
    return [
        f"## `{name}`",
        "",
        inspect.cleandoc(event.__doc__ or ""),
        "",
        *_table(
            ("kind", "subject", "kept by", "said by", "heard by"),
            [
                (
                    "fact" if event.is_fact else "request",
                    f"`{subject}`",
                    ", ".join(f"`{s.name}`" for s in STREAMS if any(covers(p, subject_of(name)) for p in s.subjects)),
                    _taken(takers(subject_of(name), "sends"), EVENTS_PAGE),
                    _taken(heard, EVENTS_PAGE) or "outsiders",
                )
            ],
        ),
        "",
        *_table(("field", "type", ""), rows),
        "",
    ]


def _type(event: type[Event], field: str) -> str:
    annotation = event.model_fields[field].annotation
    values = [each.value for each in annotation] if hasattr(annotation, "__members__") else None  # type: ignore[union-attr]
    return ", ".join(f"`{v}`" for v in values) if values else getattr(annotation, "__name__", str(annotation))


def _needed(event: type[Event], field: str) -> str:
    return "required" if event.model_fields[field].is_required() else "optional"


def _others() -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for subject, what in CORE.items():
        shown = subject.replace("*", "<token>" if subject == RPC_REPLIES else "<turn>")
        said, heard = takers(subject, "sends"), takers(subject, "hears")
        rows.append((f"`{shown}`", what, _taken(said, EVENTS_PAGE), _taken(heard, EVENTS_PAGE)))
    return rows


def _stream(spec: StreamSpec) -> tuple[str, ...]:
    kept = "until acknowledged" if spec.retention == "workqueue" else f"{spec.max_age // 3600} h"
    size = "" if spec.max_bytes < 0 else f", {spec.max_bytes / GIB:g} GiB"
    full = "refuses the new (the outbox keeps it)" if spec.discard == "new" else "drops the old"
    return f"`{spec.name}`", _codes(kept_subjects(spec)), kept + size, full


# HTTP


def api_page() -> str:
    document = make_api().openapi()
    lines = [
        "# HTTP API",
        "",
        f"{WRITTEN} Bodies, fields and statuses in full: [openapi.json](openapi.json), which a running system serves "
        "as `/openapi.json`. Refusals have one shape, `{error, message, …}`. How to follow an answer: "
        "[the stream of a turn](stream.md).",
        "",
        "A browser has a session cookie, a program `Authorization: Bearer TOKEN`; *who* names the scope that a token "
        "needs.",
        "",
    ]
    by_tag: dict[str, list[tuple[str, ...]]] = {}
    for path, methods in document["paths"].items():
        for method, described in methods.items():
            by_tag.setdefault(described["tags"][0], []).append(_route(method, path, described))
    for tag, rows in by_tag.items():
        lines += [f"## {tag.capitalize()}", "", *_table(("", "", "who", "answers", "refuses with"), rows), ""]
    return "\n".join(lines).rstrip() + "\n"


def _route(method: str, path: str, described: dict[str, Any]) -> tuple[str, ...]:
    statuses = sorted(described["responses"])
    good = [status for status in statuses if status < "400"]
    bad = [status for status in statuses if status >= "400"]
    what = described["description"].strip().split("\n\n")[0].replace("\n", " ")
    return f"`{method.upper()} {path}`", what, _who(described), ", ".join(good), ", ".join(bad)


def _who(described: dict[str, Any]) -> str:
    wanted = described.get("security", [])
    if not wanted or {} in wanted:
        return "anybody"
    return _codes(described.get("x-retinue-scopes", [])) or "anybody signed in"


# Stories


def story_page(story: Path) -> str:
    """A file of tests/flow, told again: its first sentence, the steps of each story, and for the walk who says what."""
    tree = ast.parse(story.read_text())
    first = (ast.get_docstring(tree) or "").split("\n\n")[0]
    lines = [f"# Flow: {_title_of(story)}", "", first.replace("\n", " "), ""]
    lines += [
        f"{WRITTEN} The steps are those of [{story.name}](../../{story.relative_to(ROOT)}), which walks them.",
        "",
    ]
    for title, steps in _stories(tree):
        lines += [f"## {title}", "", *(f"{n}. {told}" for n, told in enumerate(steps, 1)), ""]
    if story == WALK:
        lines += [
            "## Who says what to whom",
            "",
            "Joined from the code: each place that names a subject, for each service whose `main` reaches it.",
            "",
            *_table(("subject", "said in", "by way of", "heard in"), _routes()),
        ]
    return "\n".join(lines).rstrip() + "\n"


def _title_of(story: Path) -> str:
    return story.stem.removeprefix("test_").replace("_", " ")


def _stories(tree: ast.Module) -> Iterable[tuple[str, list[str]]]:
    for function in tree.body:
        if isinstance(function, ast.AsyncFunctionDef) and function.name.startswith("test_"):
            steps = [
                ast.literal_eval(node.args[0])
                for node in ast.walk(function)
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "step"
            ]
            title = function.name.removeprefix("test_").replace("_", " ").replace(" s ", "'s ")
            if steps:
                yield title[0].upper() + title[1:], steps


def _routes() -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for subject in sorted({way.subject for way in ways() if way.verb == "sends"}):
        said = takers(subject, "sends")
        via = {way.via for way in ways() if way.verb == "sends" and way.subject == subject}
        heard = _taken(takers(subject, "hears"), STORIES[WALK]) or "outsiders"
        rows.append((f"`{_named(subject)}`", _taken(said, STORIES[WALK]), ", ".join(sorted(via)), heard))
    return rows


def _named(subject: str) -> str:
    return subject.replace("fact.*", "fact.<user>").replace(".*", ".<turn>")


# Tables


def _taken(services: dict[str, list[str]], page: Path) -> str:
    up = "../" * (len(page.relative_to(ROOT).parts) - 1)
    return "; ".join(
        f"{service.replace('_', '-')}: " + ", ".join(f"[`{m}`]({up}{source_of(m)})" for m in modules)
        for service, modules in services.items()
    )


def _codes(texts: Iterable[str]) -> str:
    return ", ".join(f"`{text}`" for text in texts)


def _table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    lines = [f"| {' | '.join(heads)} |", f"|{' --- |' * len(heads)}"]
    return lines + [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows]


PAGES: dict[Path, Callable[[], str]] = {EVENTS_PAGE: events_page, API_PAGE: api_page} | {
    page: partial(story_page, story) for story, page in STORIES.items()
}

if __name__ == "__main__":
    for each_page, make in PAGES.items():
        each_page.parent.mkdir(parents=True, exist_ok=True)
        each_page.write_text(make())
