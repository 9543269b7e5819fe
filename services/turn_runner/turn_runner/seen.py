"""What a model was given before the conversation, for the row of its attempt: "what did the model see?".

Instructions and tools are kept once by their hash, so that a thousand turns of one agent cost a row; what this process
has kept already is not sent again. What changes from turn to turn stands with the attempt.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

import orjson

from instructions import Block
from store.turns import PromptSeen
from turn_runner.tools import Tool

MOST_REMEMBERED = 10_000
"""Prompts of which this process knows that they are kept."""


def seen(blocks: Sequence[Block], tools: Sequence[Tool[Any]]) -> PromptSeen:
    """The stable blocks and the tools under their hash, the rest as the tail."""
    stable = [{"name": block.name, "text": block.text} for block in blocks if block.stable]
    offered = [
        {"name": tool.name, "description": tool.description, "tier": tool.tier, "schema": tool.schema} for tool in tools
    ]
    digest = hashlib.sha256(orjson.dumps([stable, offered])).digest()
    tail = "\n\n".join(block.text for block in blocks if not block.stable)
    return PromptSeen(digest, tail, stable, offered)


class KeptPrompts:
    """One per process. A prompt is remembered once its commit has taken."""

    def __init__(self, most: int = MOST_REMEMBERED) -> None:
        self._most = most
        self._kept: OrderedDict[tuple[UUID, bytes], None] = OrderedDict()

    def brief(self, user_id: UUID, prompt: PromptSeen) -> PromptSeen:
        """The prompt as it is to be written: without what is kept already."""
        if (user_id, prompt.hash) not in self._kept:
            return prompt
        self._kept.move_to_end((user_id, prompt.hash))
        return replace(prompt, blocks=None, tools=None)

    def remember(self, user_id: UUID, prompt: PromptSeen) -> None:
        self._kept[(user_id, prompt.hash)] = None
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)
