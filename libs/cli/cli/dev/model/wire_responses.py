"""OpenAI's Responses: items that begin and end, numbered events, reasoning that goes back sealed."""

from collections.abc import Iterator
from typing import Any, ClassVar

from cli.dev.model.frames import Frame, Pause
from cli.dev.model.reply import PlayedCall, Reply
from cli.dev.model.script import Asked, asked_of, text_of
from cli.dev.model.served import Record
from cli.dev.model.signatures import is_ours, sign
from cli.dev.model.wire import LATE, Unacceptable, Wire, around, fragments, named
from cli.dev.model.wire_chat import ChatWire

INCOMPLETE = {"length": "max_output_tokens", "content_filter": "content_filter"}
LONGEST_CALL_ID = 64


class ResponsesWire(Wire):
    name: ClassVar[str] = "responses"

    def __init__(self, reply: Reply, record: Record) -> None:
        super().__init__(reply, record)
        self._number = -1
        self._output: list[dict[str, Any]] = []

    @classmethod
    def error(cls, status: int, message: str, code: str) -> dict[str, Any]:
        return ChatWire.error(status, message, code)

    @classmethod
    def asked(cls, body: dict[str, Any], path: dict[str, str]) -> Asked:
        items: list[dict[str, Any]] = (
            [{"role": "user", "content": body["input"]}] if isinstance(body["input"], str) else body["input"]
        )
        last = max((i for i, item in enumerate(items) if item.get("role") == "user"), default=-1)
        # The calls of one step stand together; what comes between two steps is the results of the first.
        kinds = [item.get("type") for item in items[last + 1 :]]
        step = sum(
            1 for i, kind in enumerate(kinds) if kind == "function_call_output" and kinds[i + 1 : i + 2] != [kind]
        )
        tools: list[dict[str, Any]] = body.get("tools") or []
        return asked_of(
            body["model"],
            items,
            user=text_of(items[last].get("content")) if last >= 0 else "",
            step=step,
            tools=tuple(tool["name"] for tool in tools if tool["type"] == "function"),
            searches=any(tool["type"].startswith("web_search") for tool in tools),
            streams=bool(body.get("stream")),
        )

    @classmethod
    def check(cls, asked: Asked, body: dict[str, Any]) -> None:
        called: set[str] = set()
        for at, item in enumerate(asked.messages):
            if item.get("type") == "reasoning":
                if not is_ours(item.get("encrypted_content"), cls.name, asked.model):
                    raise Unacceptable(f"The encrypted content for item {item.get('id')} could not be verified.")
                following = asked.messages[at + 1 : at + 2]
                if not following or following[0].get("type") == "function_call_output":
                    raise Unacceptable(
                        f"Item '{item.get('id')}' of type 'reasoning' was provided without its required following item."
                    )
            elif item.get("type") == "function_call":
                if len(item["call_id"]) > LONGEST_CALL_ID:
                    raise Unacceptable(
                        f"Invalid 'input[{at}].call_id': string too long. Expected a string with maximum length "
                        f"{LONGEST_CALL_ID}, but got a string with length {len(item['call_id'])} instead."
                    )
                called.add(item["call_id"])
            elif item.get("type") == "function_call_output":
                if item["call_id"] not in called:
                    raise Unacceptable(f"No tool call found for function call output with call_id {item['call_id']}.")
                called.remove(item["call_id"])
        if called:
            raise Unacceptable(f"No tool output found for function call {called.pop()}.")

    def opening(self) -> Iterator[bytes]:
        response = self._response("in_progress")
        yield self._event("response.created", response=response)
        yield self._event("response.in_progress", response=response)

    def begin(self, *, reasoning: bool) -> Iterator[bytes]:
        if reasoning:
            yield self._added({"id": f"rs_{self.record.number}", "type": "reasoning", "summary": []})
            part = {"type": "summary_text", "text": ""}
            yield self._of_item("response.reasoning_summary_part.added", summary_index=0, part=part)
            return
        message: dict[str, Any] = {"id": f"msg_{self.record.number}", "type": "message", "role": "assistant"}
        yield self._added({**message, "content": [], "status": "in_progress"})
        part: dict[str, Any] = {"type": "output_text", "text": "", "annotations": []}
        yield self._of_item("response.content_part.added", content_index=0, part=part)

    def around(self, *, reasoning: bool) -> tuple[bytes, bytes]:
        if not self._output:  # a break before the first token
            self._output.append({"id": "msg_0"})
        if reasoning:
            return around(self._of_item("response.reasoning_summary_text.delta", summary_index=0, delta="\0"))
        return around(self._of_item("response.output_text.delta", content_index=0, delta="\0", logprobs=[]))

    def end(self, *, reasoning: bool) -> Iterator[bytes]:
        if reasoning:
            yield self._done(self._thought())
            return
        for index, annotation in enumerate(self._annotations()):
            at = {"content_index": 0, "annotation_index": index}
            yield self._of_item("response.output_text.annotation.added", **at, annotation=annotation)
        yield self._done(self._message("".join(self.record.said)))

    def search(self) -> Iterator[bytes]:
        search = {"id": f"ws_{self.record.number}", "type": "web_search_call", "status": "in_progress"}
        yield self._added(search)
        yield self._of_item("response.web_search_call.searching")
        yield self._done(self._searched())

    def calls(self) -> Iterator[bytes]:
        for index, call in enumerate(self.reply.tools):
            item = self._call(index, call)
            yield self._added({**item, "arguments": "", "status": "in_progress"})
            pieces = fragments(call.arguments) if self.reply.calls == "fragments" else []
            for piece in pieces:
                yield self._of_item("response.function_call_arguments.delta", delta=piece)
            yield self._of_item("response.function_call_arguments.done", arguments=call.arguments)
            yield self._done(item)

    def ending(self) -> Iterator[Frame]:
        if self.reply.usage == "late":
            yield Pause(LATE)
        if self.reply.finish == "none":
            return
        status = "incomplete" if self.finish_word() in INCOMPLETE else "completed"
        yield self._event(f"response.{status}", response=self._response(status, self._output))

    def failure(self, message: str) -> bytes:
        return self._event("error", code="server_error", message=message, param=None)

    def whole(self) -> dict[str, Any]:
        reply = self.reply
        text = self.text()
        output: list[dict[str, Any]] = [self._thought()] if reply.reasoning else []
        if reply.search and self.record.asked.searches:
            output.append(self._searched())
        if text:
            output.append(self._message(text))
        output += [self._call(index, call) for index, call in enumerate(reply.tools)]
        return self._response("incomplete" if self.finish_word() in INCOMPLETE else "completed", output)

    def _thought(self) -> dict[str, Any]:
        thought = self.thought()
        item: dict[str, Any] = {"id": f"rs_{self.record.number}", "type": "reasoning"}
        item["summary"] = [{"type": "summary_text", "text": thought}]
        if "reasoning.encrypted_content" in (self.record.body.get("include") or ()):
            item["encrypted_content"] = sign(self.name, self.record.model, thought)
        return item

    def _message(self, text: str) -> dict[str, Any]:
        part = {"type": "output_text", "text": text, "annotations": self._annotations()}
        message = {"id": f"msg_{self.record.number}", "type": "message", "role": "assistant", "status": "completed"}
        return {**message, "content": [part]}

    def _annotations(self) -> list[dict[str, Any]]:
        place = {"start_index": 0, "end_index": 1}
        return [{"type": "url_citation", "url": url, "title": title, **place} for url, title in self.reply.sources]

    def _searched(self) -> dict[str, Any]:
        action = {"type": "search", "query": self.reply.search}
        return {"id": f"ws_{self.record.number}", "type": "web_search_call", "status": "completed", "action": action}

    def _call(self, index: int, call: PlayedCall) -> dict[str, Any]:
        item = {"id": f"fc_{self.record.number}_{index}", "type": "function_call", "status": "completed"}
        return {**item, "call_id": self.call_id(index, call), "name": call.name, "arguments": call.arguments}

    def _response(self, status: str, output: list[dict[str, Any]] | None = None) -> dict[str, Any]:
        record = self.record
        response: dict[str, Any] = {
            "id": f"resp_{record.number}",
            "object": "response",
            "created_at": int(record.at),
            "model": record.model,
            "status": status,
            "error": None,
            "incomplete_details": None,
            "output": output or [],
        }
        if status == "incomplete":
            response["incomplete_details"] = {"reason": INCOMPLETE[self.finish_word()]}
        if status != "in_progress" and self.reply.usage != "none":
            response["usage"] = {
                "input_tokens": record.prompt_tokens,
                "input_tokens_details": {"cached_tokens": record.prompt_tokens // 2},
                "output_tokens": record.tokens,
                "output_tokens_details": {"reasoning_tokens": self.reply.reasoning},
                "total_tokens": record.prompt_tokens + record.tokens,
            }
        return response

    def _added(self, item: dict[str, Any]) -> bytes:
        self._output.append(item)
        return self._event("response.output_item.added", output_index=len(self._output) - 1, item=item)

    def _done(self, item: dict[str, Any]) -> bytes:
        self._output[-1] = item
        return self._event("response.output_item.done", output_index=len(self._output) - 1, item=item)

    def _of_item(self, kind: str, **fields: Any) -> bytes:
        return self._event(kind, item_id=self._output[-1]["id"], output_index=len(self._output) - 1, **fields)

    def _event(self, kind: str, **fields: Any) -> bytes:
        self._number += 1
        return named({"type": kind, "sequence_number": self._number, **fields})
