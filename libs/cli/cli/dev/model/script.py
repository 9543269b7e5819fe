"""Which reply a request gets: rules by model name and by what the user said, directives, and counted faults."""

import hashlib
import json
import re
from collections import OrderedDict
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from cli.dev.model.directive import directives
from cli.dev.model.reply import Reply, ScriptError, as_object, reply_from

REMEMBERED = 20_000  # conversations whose faults are counted


@dataclass(slots=True, frozen=True)
class Rule:
    """Replies, one per step, for the models (a glob) and messages (a regular expression, searched) that it fits."""

    replies: tuple[Reply, ...]
    model: str = "*"
    user: str = ""

    def fits(self, model: str, user: str) -> bool:
        return fnmatchcase(model, self.model) and (not self.user or re.search(self.user, user) is not None)


@dataclass(slots=True, frozen=True)
class Script:
    """All that the server was told: rules in order of precedence, and what it lists as its models.

    With `strict`, a model that is not listed is unknown (404); otherwise any name goes. `facts` has more to say of a
    model in the lists; `pulls` how the fetching of a model goes: `{bytes, steps, rate, error}`.
    """

    rules: tuple[Rule, ...] = ()
    models: tuple[str, ...] = ("scripted",)
    facts: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    pulls: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    strict: bool = False
    source: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass(slots=True, frozen=True)
class Asked:
    """What matters of a request for choosing its reply. `hash` stands for the whole list of messages.

    messages: as they came, in the words of the wire. tools: the names of those that are offered. searches: the
    provider may search the web itself. streams: the answer is to be streamed.
    """

    model: str
    user: str
    step: int
    hash: str
    offered: bool
    messages: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    tools: tuple[str, ...] = ()
    searches: bool = False
    streams: bool = False


def script_from(source: Any) -> Script:
    """A script from JSON: `{rules: [{model?, user?, replies: […]}], models?, strict?, pulls?}`. Raises `ScriptError`.

    A model is a name, or an object with `id` and whatever else the lists shall say of it.
    """
    fields = as_object(source, "a script is an object with “rules”")
    unknown = set(fields) - {"rules", "models", "strict", "pulls"}
    if unknown:
        raise ScriptError(f"a script has no {', '.join(sorted(unknown))}; it has rules, models, strict, pulls")
    rules = tuple(_rule(rule) for rule in fields.get("rules", []))
    listed = [_listed(model) for model in fields.get("models", ("scripted",))]
    pulls = {
        name: as_object(pull, "a pull is {bytes?, steps?, rate?, error?}")
        for name, pull in as_object(fields.get("pulls", {}), "pulls are {model: {…}}").items()
    }
    return Script(rules, tuple(name for name, _ in listed), dict(listed), pulls, bool(fields.get("strict")), fields)


def _listed(model: Any) -> tuple[str, dict[str, Any]]:
    if isinstance(model, str):
        return model, {}
    facts = as_object(model, "a model is a name, or an object with “id”")
    if not isinstance(facts.get("id"), str):
        raise ScriptError(f"a model needs an “id”: {model!r}")
    return facts["id"], facts


def asked_from(body: dict[str, Any]) -> Asked:
    """What a chat-completion request asks. A step is an assistant message with calls after the last user message."""
    messages: list[dict[str, Any]] = body["messages"]
    last = max((i for i, message in enumerate(messages) if message.get("role") == "user"), default=-1)
    tools: list[dict[str, Any]] = body.get("tools") or []
    return asked_of(
        body["model"],
        messages,
        user=text_of(messages[last].get("content")) if last >= 0 else "",
        step=sum(1 for message in messages[last + 1 :] if message.get("tool_calls")),
        tools=tuple(str(tool.get("function", {}).get("name")) for tool in tools),
        streams=bool(body.get("stream")),
    )


def asked_of(
    model: str,
    messages: list[dict[str, Any]],
    *,
    user: str,
    step: int,
    tools: tuple[str, ...],
    searches: bool = False,
    streams: bool = False,
) -> Asked:
    """The same for any wire, its messages as they came."""
    text = json.dumps(messages, sort_keys=True, separators=(",", ":"))
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    return Asked(str(model), user, step, digest, bool(tools), messages, tools, searches, streams)


def text_of(content: Any) -> str:
    """The text of a message's content: a string, or a list of typed parts."""
    if isinstance(content, str):
        return content
    parts: list[dict[str, Any]] = content or []
    return " ".join(str(part.get("text", "")) for part in parts if part.get("type") in ("text", "input_text"))


class Director:
    """Holds the script of the moment and remembers how often each conversation has met its fault."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self._met: OrderedDict[tuple[str, str], int] = OrderedDict()

    def reply(self, asked: Asked) -> Reply:
        """The reply for a request; counts a fault as met. Raises `ScriptError` for a directive that makes no sense."""
        replies = self._replies(asked)
        reply = replies[min(asked.step, len(replies) - 1)] if replies else Reply()
        if asked.step >= len(replies) and reply.tools and not (reply.again and asked.offered):
            reply = Reply(text="The tools have answered.", rate=reply.rate)
        if reply.faulty and reply.times:
            key = (asked.model, asked.hash)
            met = self._met.get(key, 0)
            if met >= reply.times:
                return reply.healthy()
            self._met[key] = met + 1
            while len(self._met) > REMEMBERED:
                self._met.popitem(last=False)
        return reply

    def load(self, script: Script) -> None:
        """Replace the script and forget the faults met."""
        self.script = script
        self._met.clear()

    def _replies(self, asked: Asked) -> list[Reply]:
        said = directives(asked.user)
        if said:
            return said
        for rule in self.script.rules:
            if rule.fits(asked.model, asked.user):
                return list(rule.replies)
        if "=" in asked.model:
            return directives(f"[[{asked.model.replace(',', ' ')}]]")
        return [Reply(text=f"You said: {asked.user[:2000]}")] if asked.user else []


def _rule(source: Any) -> Rule:
    fields = as_object(source, "a rule is {model?, user?, replies: [reply, …]}")
    if not isinstance(fields.get("replies"), list) or not fields["replies"]:
        raise ScriptError("a rule needs “replies”, one per step")
    unknown = set(fields) - {"model", "user", "replies"}
    if unknown:
        raise ScriptError(f"a rule has no {', '.join(sorted(unknown))}; it has model, user, replies")
    try:
        re.compile(fields.get("user", ""))
    except re.error as error:
        raise ScriptError(f"“user” is not a regular expression: {error}") from error
    replies = tuple(reply_from(reply) for reply in fields["replies"])
    return Rule(replies, fields.get("model", "*"), fields.get("user", ""))
