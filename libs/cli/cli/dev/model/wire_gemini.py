"""Gemini's `streamGenerateContent`: parts in candidates, calls whole, their thoughts signed."""

import base64
from collections.abc import Iterator
from typing import Any, ClassVar

from cli.dev.model.frames import Frame, Pause
from cli.dev.model.script import Asked, asked_of
from cli.dev.model.signatures import is_ours, sign
from cli.dev.model.wire import LATE, Unacceptable, Wire, around, as_arguments, data

FINISH_REASONS = {"length": "MAX_TOKENS", "content_filter": "SAFETY"}
STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    503: "UNAVAILABLE",
}
# What Google documents for calls that another model has made.
WORDS = ("skip_thought_signature_validator", "context_engineering_is_the_way_to_go")
NO_SIGNATURE = frozenset(spelt for word in WORDS for spelt in (word, base64.b64encode(word.encode()).decode()))


class GeminiWire(Wire):
    name: ClassVar[str] = "gemini"

    @classmethod
    def asked(cls, body: dict[str, Any], path: dict[str, str]) -> Asked:
        contents: list[dict[str, Any]] = body["contents"]
        last = max((i for i, content in enumerate(contents) if _is_of_user(content)), default=-1)
        texts = [str(part["text"]) for part in contents[last]["parts"] if "text" in part] if last >= 0 else []
        tools: list[dict[str, Any]] = body.get("tools") or []
        declared = [one for tool in tools for one in _either(tool, "functionDeclarations") or ()]
        return asked_of(
            path["model"],
            contents,
            user=" ".join(texts),
            step=sum(1 for content in contents[last + 1 :] if _parts(content, "functionCall")),
            tools=tuple(str(one["name"]) for one in declared),
            searches=any(_either(tool, "googleSearch") is not None for tool in tools),
            streams=path["method"] == "streamGenerateContent",
        )

    @classmethod
    def check(cls, asked: Asked, body: dict[str, Any]) -> None:
        contents = asked.messages
        last = max((i for i, content in enumerate(contents) if _is_of_user(content)), default=-1)
        for at, content in enumerate(contents):
            for number, part in enumerate(_parts(content, "functionCall")):
                signature: Any = _either(part, "thoughtSignature")
                if signature is None:
                    if at > last and number == 0 and asked.model.startswith("gemini-3"):
                        name = _parts(content, "functionCall")[0]["functionCall"]["name"]
                        raise Unacceptable(
                            "Function call is missing a thought_signature in functionCall parts. This is required for "
                            f"tools to work correctly. Function call `{name}`, position {at + 1}."
                        )
                elif signature not in NO_SIGNATURE and not is_ours(signature, cls.name, asked.model):
                    raise Unacceptable("Thought signature is not valid.")
            answered = len(_parts(content, "functionResponse"))
            if answered and answered != len(_parts(contents[at - 1], "functionCall")):
                raise Unacceptable(
                    "Please ensure that the number of function response parts is equal to the number of function call "
                    "parts of the function call turn."
                )

    @classmethod
    def error(cls, status: int, message: str, code: str) -> dict[str, Any]:
        return {"error": {"code": status, "message": message, "status": STATUSES.get(status, "INTERNAL")}}

    def whole(self) -> dict[str, Any]:
        text = self.text()
        parts: list[dict[str, Any]] = []
        if self.reply.reasoning:
            parts.append({"text": self.thought(), "thought": True})
        if text:
            parts.append({"text": text})
        parts += self._calls()
        return self._chunk(parts, finish=True)

    def opening(self) -> Iterator[bytes]:
        return iter(())

    def around(self, *, reasoning: bool) -> tuple[bytes, bytes]:
        return around(data(self._chunk([{"text": "\0", "thought": True} if reasoning else {"text": "\0"}])))

    def calls(self) -> Iterator[bytes]:
        for part in self._calls():
            yield data(self._chunk([part]))

    def ending(self) -> Iterator[Frame]:
        if self.reply.usage == "late":
            yield Pause(LATE)
        if self.reply.finish != "none":
            yield data(self._chunk([{"text": ""}], finish=True))

    def failure(self, message: str) -> bytes:
        return data(self.error(500, message, ""))

    def garbage(self) -> bytes:
        return b'data: {"candidates": [{"content"\n\n'

    def _calls(self) -> list[dict[str, Any]]:
        """Of parallel calls only the first is signed, as at Google."""
        parts: list[dict[str, Any]] = []
        for index, call in enumerate(self.reply.tools):
            function: dict[str, Any] = {"name": call.name, "args": as_arguments(call)}
            if call.id:
                function["id"] = call.id
            part: dict[str, Any] = {"functionCall": function}
            if index == 0:
                part["thoughtSignature"] = sign(self.name, self.record.model, self.thought())
            parts.append(part)
        return parts

    def _chunk(self, parts: list[dict[str, Any]], *, finish: bool = False) -> dict[str, Any]:
        record, reply = self.record, self.reply
        candidate: dict[str, Any] = {"content": {"parts": parts, "role": "model"}, "index": 0}
        chunk: dict[str, Any] = {"candidates": [candidate]}
        if finish:
            candidate["finishReason"] = FINISH_REASONS.get(self.finish_word(), "STOP")
            if record.asked.searches and (reply.search or reply.sources):
                candidate["groundingMetadata"] = {
                    "webSearchQueries": [reply.search],
                    "groundingChunks": [{"web": {"uri": url, "title": title}} for url, title in reply.sources],
                }
            if reply.usage != "none":
                chunk["usageMetadata"] = {
                    "promptTokenCount": record.prompt_tokens,
                    "cachedContentTokenCount": record.prompt_tokens // 2,
                    "candidatesTokenCount": record.tokens - reply.reasoning,
                    "thoughtsTokenCount": reply.reasoning,
                    "totalTokenCount": record.prompt_tokens + record.tokens,
                }
        return {**chunk, "modelVersion": record.model, "responseId": f"resp-{record.number}"}


def _is_of_user(content: dict[str, Any]) -> bool:
    return content.get("role", "user") == "user" and not _parts(content, "functionResponse")


def _parts(content: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [part for part in content["parts"] if _either(part, kind) is not None]


def _either(fields: dict[str, Any], name: str) -> Any:
    """A field by its JSON name or its other one, with underscores: Google takes both."""
    underscored = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)
    return fields.get(name, fields.get(underscored))
