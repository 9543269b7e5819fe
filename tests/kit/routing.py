"""Who says what to whom on the bus, read from the code: the routing table that pages and tests share.

A way is an expression in the source that names a subject: an event that is made, a subject that is published,
requested or subscribed to, a call of the client library that asks the broker. Which service it belongs to follows
from the imports of its `main`. Nothing here runs a service, so a way that is only reachable counts as taken.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

import grimp

import contracts.settings
import contracts.turns  # noqa: F401 - registers its events
from bus.broker import consumer, make_broker
from contracts import subjects
from contracts.event import EVENTS
from turn_runner.handlers import subscribe_requests

ROOT = Path(__file__).parents[2]
PACKAGES = ("contracts", "bus", "store", "chassis", "llm", "vault", "gateway", "turn_runner")
SERVICES = ("gateway", "turn_runner")

Verb = Literal["sends", "hears", "asks"]
"""`asks` is for the broker itself: its API, and acknowledgements."""


@dataclass(frozen=True, order=True)
class Way:
    """`subject` is a pattern: `*` for a token that is known at run time only."""

    subject: str
    verb: Verb
    module: str
    via: str
    """outbox, core, log, or what of the client library it is."""


class UnknownSubject(Exception):
    """An expression whose subject cannot be read from the code; name it in `GENERIC` with its reason."""


GENERIC = {
    ("bus.client", "subject"): "the client itself, under whatever its callers publish",
    ("bus.publish", "subject"): "publishes for others: the outbox relay, and the writer of the log",
    ("bus.rpc.asking", "subject"): "asks for others, whose questions are ways of their own",
    ("bus.rpc.answering", "subject"): "answers for others, whose subjects are ways of their own",
    ("chassis.relay", "row.subject"): "rows of the outbox, whose writers are ways of their own",
    ("bus.publish", "self._prefix + '*'"): "the client's own inbox",
    ("gateway.streams.log", "inbox"): "the client's own inbox",
    ("turn_runner.main", "client"): "a connection: the answerer subscribes, and its questions are ways of their own",
    ("turn_runner.streamed", "inbox"): "the client's own inbox",
    ("gateway.streams.log", "subject"): "what `_ask` is told to ask, which is a way of its own",
}
"""Expressions that name no subject of their own: module and source, with the reason."""

SUBJECT_MAKERS = {
    "log_subject": "log.*",
    "stop_subject": "ctl.stop.*",
    "hint_subject": "hint.*",
    "ended_subject": "fact.*.turn.completed.v1",
    "user_facts": "fact.*.>",
    "reply_of": subjects.RPC_REPLIES,
}

BROKER_CALLS = {"stream_info": "$JS.API.STREAM.INFO.*", "account_info": "$JS.API.INFO"}
"""Methods of nats-py, and what they ask the broker."""

_QUESTIONS: dict[str, Verb] = {
    **dict.fromkeys(("ask", "follow", "tell"), "sends"),
    **dict.fromkeys(("answer", "answer_often", "hear"), "hears"),
}
"""Methods of `bus.rpc` whose first argument is a subject."""

_ALWAYS_FOR_ADMINS = {"bus.streams": {"ensure_streams"}}
"""Run by `retinue migrate` alone, as the user that may do everything."""


@cache
def modules_of(service: str) -> frozenset[str]:
    """Everything that a service's process may import."""
    graph = _graph()
    return frozenset({f"{service}.main", *graph.find_upstream_modules(f"{service}.main")})


@cache
def ways() -> tuple[Way, ...]:
    """Every way in the code, whoever takes it."""
    found: set[Way] = set()
    for module, path in sorted(_sources().items()):
        found.update(_Reader(module, ast.parse(path.read_text())).read())
    return tuple(sorted(found | set(_subscribers())))


def ways_of(service: str) -> list[Way]:
    return [way for way in ways() if way.module in modules_of(service)]


def takers(subject: str, verb: Verb) -> dict[str, list[str]]:
    """Service -> its modules that send or hear this subject."""
    taken: dict[str, list[str]] = {}
    for service in SERVICES:
        modules = sorted({way.module for way in ways_of(service) if way.verb == verb and way.subject == subject})
        if modules:
            taken[service] = modules
    return taken


def covers(pattern: str, subject: str) -> bool:
    """Whether a NATS pattern takes in everything that this subject (itself perhaps a pattern) can be."""
    wanted, given = pattern.split("."), subject.split(".")
    for n, token in enumerate(wanted):
        if token == ">":
            return len(given) > n
        if n >= len(given) or given[n] == ">" or (token != "*" and token != given[n]):
            return False
    return len(wanted) == len(given)


def subject_of(event: str) -> str:
    return f"fact.*.{event}" if EVENTS[event].is_fact else event


def source_of(module: str) -> str:
    """Where a module is, seen from the repository's root."""
    return str(_sources()[module].relative_to(ROOT))


@cache
def _graph() -> Any:
    return grimp.build_graph(*PACKAGES, cache_dir=None)


@cache
def _sources() -> dict[str, Path]:
    places = [*ROOT.glob("libs/*/*/**/*.py"), *ROOT.glob("services/*/*/**/*.py")]
    named: dict[str, Path] = {}
    for path in places:
        parts = path.relative_to(ROOT).with_suffix("").parts[2:]
        if parts[0] in PACKAGES:
            named[".".join(parts).removesuffix(".__init__")] = path
    return named


def _subscribers() -> Iterator[Way]:
    """What FastStream's handlers are bound to: made as the service makes them, and asked."""
    broker = make_broker("nats://turn_runner@127.0.0.1:1", "routing")
    subscribe_requests(broker, None, None)  # type: ignore[arg-type]
    for each in broker.subscribers:
        subscriber: Any = each
        for subject in consumer(subscriber.extra_options["durable"]).filters:
            yield Way(subject, "hears", "turn_runner.handlers", f"{subscriber.stream.name} (pull)")
        durable = f"{subscriber.stream.name}.{subscriber.extra_options['durable']}"
        for ask in (f"$JS.API.CONSUMER.MSG.NEXT.{durable}", f"$JS.API.CONSUMER.INFO.{durable}"):
            yield Way(ask, "asks", "turn_runner.handlers", "pull subscriber")
        yield Way(f"$JS.ACK.{durable}.>", "asks", "turn_runner.handlers", "acknowledgement")


class _Reader:
    """Reads the ways out of one module."""

    def __init__(self, module: str, tree: ast.Module) -> None:
        self.module = module
        self.tree = tree
        self.events = {cls.__name__: name for name, cls in EVENTS.items()}
        self.constants = {name: value for name, value in vars(subjects).items() if isinstance(value, str)}

    def read(self) -> Iterator[Way]:
        skipped = _ALWAYS_FOR_ADMINS.get(self.module, set())
        for top in self.tree.body:
            if getattr(top, "name", None) in skipped:
                continue
            for node in ast.walk(top):
                if isinstance(node, ast.Call):
                    yield from self._call(node)

    def _call(self, node: ast.Call) -> Iterator[Way]:
        name = _name(node.func)
        if name in self.events and not self.module.startswith("contracts."):
            if not _is_method(node.func):
                yield Way(subject_of(self.events[name]), "sends", self.module, "outbox")
        elif name == "of_batch" and self.module != "store.outbox":
            yield Way("log.*", "sends", self.module, "outbox")
        elif name == "again_subject" and self.module.startswith("store."):
            for each in subjects.CONSUMERS:
                yield Way(subjects.again_subject(each), "sends", self.module, "outbox")
        elif name in _QUESTIONS and node.args and ast.unparse(node.args[0]).startswith("RPC_"):
            yield Way(self.constants[ast.unparse(node.args[0])], _QUESTIONS[name], self.module, "core")
        elif name in BROKER_CALLS:
            yield Way(BROKER_CALLS[name], "asks", self.module, name)
        elif name in ("publish", "subscribe", "request", "_ask") and node.args and _is_method(node.func):
            subject = self._subject(node.args[0])
            if subject is not None:
                yield self._way(name, subject)

    def _way(self, name: str, subject: str) -> Way:
        if subject.startswith("$JS."):
            return Way(subject, "asks", self.module, "client")
        if name == "subscribe":
            return Way(subject, "hears", self.module, "core")
        return Way(subject, "sends", self.module, "log" if subject.startswith("log.") else "core")

    def _subject(self, node: ast.expr) -> str | None:
        """The pattern that an expression makes; none if it is generic by the list above."""
        source = ast.unparse(node)
        if (self.module, source) in GENERIC:
            return None
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return node.value
        if isinstance(node, ast.JoinedStr):
            return "".join(self._piece(part) for part in node.values)
        if isinstance(node, ast.Call) and _name(node.func) in SUBJECT_MAKERS:
            return SUBJECT_MAKERS[_name(node.func)]
        if isinstance(node, ast.Name | ast.Attribute):
            if source in self.constants:
                return self.constants[source]
            for made in self._assigned(source):
                return self._subject(made)
        if self._is_not_ours(node):
            return None
        raise UnknownSubject(f"{self.module}: {source}")

    def _piece(self, part: ast.expr) -> str:
        if isinstance(part, ast.Constant):
            return str(part.value)
        assert isinstance(part, ast.FormattedValue)
        source = ast.unparse(part.value)
        for made in self._assigned(source):
            if isinstance(made, ast.Call) and _name(made.func) in SUBJECT_MAKERS:
                return SUBJECT_MAKERS[_name(made.func)]
        return "*"

    def _assigned(self, target: str) -> Iterator[ast.expr]:
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Assign) and any(ast.unparse(each) == target for each in node.targets):
                yield node.value

    def _is_not_ours(self, node: ast.expr) -> bool:
        """Calls of other things that happen to be named so: an HTTP request, an in-process callback."""
        return not any(
            name in ast.unparse(self.tree) for name in ("nats", "AckedPublisher", "publish_stored", "Publish")
        )


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _is_method(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute)


if __name__ == "__main__":
    for service_name in SERVICES:
        print(service_name)
        for each_way in ways_of(service_name):
            print("  ", each_way)
