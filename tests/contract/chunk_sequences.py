"""Random sequences of chunks as our runner may send them: valid, seeded, and cut off wherever a stream may break."""

import json
import random
from collections.abc import Callable, Iterator
from typing import Any

from contracts import chunks
from contracts.chunks import Chunk

WORDS = ["a", "Grüße", " ", "\n", '"', "\\", "🙂", "日本", "{", "]", ":", "null", "\t", "'", "</s>", "\u2028"]

KEYS = ["a", "Größe", "", " ", "日本", "🙂", "</s>", "{"]  # unescaped: the V8 of Node 24 misreads some escaped keys


def sequence(seed: int) -> list[Chunk]:
    """One message, or the beginning of one. The same seed gives the same chunks."""
    made = list(_Writer(random.Random(seed)).message())
    dice = random.Random(-seed - 1)
    return made[: dice.randint(1, len(made))] if dice.random() < 0.4 else made


class _Writer:
    def __init__(self, dice: random.Random) -> None:
        self.dice = dice
        self.names = 0
        self.unfinished: list[tuple[str, bool, bool]] = []  # calls that wait for a result, perhaps from another step

    def message(self) -> Iterator[Chunk]:
        yield chunks.start("message-1", self.maybe(self.metadata))
        for _ in range(self.dice.randint(1, 4)):
            while self.unfinished and self.dice.random() < 0.5:
                yield from self.result(self.unfinished.pop())
            yield chunks.start_step()
            yield from self.step()
            yield chunks.finish_step()
        ending = self.dice.random()
        if ending < 0.15:
            yield chunks.abort("stopped")
        elif ending < 0.25:
            yield chunks.error("the model is gone")
        else:
            yield chunks.finish(self.dice.choice(["stop", "length", "tool-calls", None]), self.maybe(self.metadata))

    def step(self) -> Iterator[Chunk]:
        """Some strands, woven: parallel calls, text beside reasoning, data anywhere."""
        kinds = [self.text, self.reasoning, self.call, self.call, self.call, self.source, self.data, self.about]
        strands = [self.dice.choice(kinds)() for _ in range(self.dice.randint(0, 5))]
        while strands:
            strand = self.dice.choice(strands)
            for _ in range(self.dice.randint(1, 4)):
                chunk = next(strand, None)
                if chunk is None:
                    strands.remove(strand)
                    break
                yield chunk

    def text(self) -> Iterator[Chunk]:
        yield from self.streamed(chunks.text_start, chunks.text_delta, chunks.text_end)

    def reasoning(self) -> Iterator[Chunk]:
        yield from self.streamed(chunks.reasoning_start, chunks.reasoning_delta, chunks.reasoning_end)

    def streamed(self, start: Any, delta: Any, end: Any) -> Iterator[Chunk]:
        part = self.name("part")
        yield start(part, self.maybe(self.provider))
        for _ in range(self.dice.randint(0, 6)):
            chunk = delta(part, self.words())
            if self.dice.random() < 0.1:
                chunk["providerMetadata"] = {**self.provider(), "retinue": {"part": part}}
            yield chunk
        yield end(part, self.maybe(self.provider))

    def call(self) -> Iterator[Chunk]:
        call, tool = self.name("call"), self.dice.choice(["calculator", "fetch-page", "mcp_x_y"])
        ours, dynamic = self.dice.random() < 0.7, self.dice.random() < 0.4
        options: dict[str, Any] = {"ours": ours, "dynamic": dynamic, "title": self.maybe(self.words)}
        options["metadata"] = self.maybe(self.provider)
        value: Any = {self.key(): self.json() for _ in range(self.dice.randint(0, 3))}
        streamed = self.dice.random() < 0.7
        if streamed:
            value = yield from self.streamed_input(call, tool, value, options)
        if streamed and self.dice.random() < 0.1:  # its input never became whole
            yield chunks.tool_output_error(call, "cut off", ours=ours, dynamic=dynamic)
            return
        if dynamic and self.dice.random() < 0.1:
            refused = chunks.tool_input_available(call, tool, value, **options)
            yield {**refused, "type": "tool-input-error", "errorText": "not what the tool takes"}
            return
        yield self.known(chunks.tool_input_available(call, tool, value, **options))
        if self.dice.random() < 0.15:
            yield from self.approval(call)
        if self.dice.random() < 0.75:
            yield from self.result((call, ours, dynamic))
        else:
            self.unfinished.append((call, ours, dynamic))

    def streamed_input(self, call: str, tool: str, value: Any, options: dict[str, Any]) -> Iterator[Chunk]:
        start = self.known(chunks.tool_input_start(call, tool, **options))
        written = json.dumps(value, ensure_ascii=self.dice.random() < 0.5, indent=self.dice.choice([None, None, 1]))
        if self.dice.random() < 0.1:
            start["inputEncoding"] = "text"
            value = written
        yield start
        while written and self.dice.random() < 0.98:
            cut = self.dice.randint(0, min(len(written), 12))
            yield chunks.tool_input_delta(call, written[:cut])
            written = written[cut:]
        return value

    def approval(self, call: str) -> Iterator[Chunk]:
        request = chunks.tool_approval_request(call, self.name("approval"))
        for field in ("approvalDescriptor", "inputSchemaInput"):
            if self.dice.random() < 0.3:
                request[field] = self.json()
        yield request
        if self.dice.random() < 0.3:
            yield chunks.tool_output_denied(call)

    def result(self, waiting: tuple[str, bool, bool]) -> Iterator[Chunk]:
        call, ours, dynamic = waiting
        for _ in range(self.dice.choice([0, 0, 0, 2])):
            yield chunks.tool_output_available(call, self.json(), ours=ours, dynamic=dynamic, preliminary=True)
        metadata = self.maybe(self.provider)
        if self.dice.random() < 0.3:
            yield chunks.tool_output_error(call, self.words(), ours=ours, dynamic=dynamic, metadata=metadata)
        else:
            yield chunks.tool_output_available(call, self.json(), ours=ours, dynamic=dynamic, metadata=metadata)

    def source(self) -> Iterator[Chunk]:
        which = self.dice.randint(0, 2)
        metadata = self.maybe(self.provider)
        if which == 0:
            yield chunks.source_url(self.name("source"), "https://example.org/?q=1", self.maybe(self.words), metadata)
        elif which == 1:
            filename = self.maybe(self.words)
            yield chunks.source_document(self.name("source"), "text/plain", self.words(), filename, metadata)
        else:
            yield chunks.file("data:image/png;base64,AAAA", "image/png", metadata)

    def data(self) -> Iterator[Chunk]:
        name = self.dice.choice(["plan", "progress"])
        for _ in range(self.dice.randint(1, 4)):
            id = self.dice.choice([None, "one", "two"])
            yield chunks.data(name, self.json(), id, transient=self.dice.random() < 0.2)

    def about(self) -> Iterator[Chunk]:
        yield chunks.message_metadata(self.metadata())

    def known(self, chunk: Chunk) -> Chunk:
        if self.dice.random() < 0.2:
            chunk["toolMetadata"] = {"kind": self.json()}
        return chunk

    def metadata(self) -> dict[str, Any]:
        return {name: self.json() for name in self.dice.sample(["retinue", "usage", "constructor", "note"], 2)}

    def provider(self) -> dict[str, Any]:
        return {self.dice.choice(["openai", "anthropic"]): {"signature": self.words(), "n": self.json()}}

    def json(self, depth: int = 0) -> Any:
        """Numbers that JavaScript holds exactly; no list begins with a minus, which SDK 6 cannot repair when cut."""
        kind = self.dice.randint(0, 7 if depth < 3 else 5)
        if kind < 2:
            return self.words()
        if kind < 6:
            return self.dice.choice([None, True, False, 0, 7, 2**52, 1.5, 12e20, 0.25])
        if kind == 6:
            return [self.json(depth + 1) for _ in range(self.dice.randint(0, 3))]
        below = {self.key(): self.json(depth + 1) for _ in range(self.dice.randint(0, 3))}
        return {**below, "below": -3.5} if self.dice.random() < 0.5 else below

    def key(self) -> str:
        return "".join(self.dice.choices(KEYS, k=2))

    def words(self) -> str:
        return "".join(self.dice.choices(WORDS, k=self.dice.randint(0, 5)))

    def name(self, kind: str) -> str:
        self.names += 1
        return f"{kind}-{self.names}"

    def maybe(self, make: Callable[[], Any]) -> Any:
        return make() if self.dice.random() < 0.3 else None
