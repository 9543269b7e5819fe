"""What a model is told before the conversation: the blocks, their order, and the sheet of all tools.

The turn-runner composes what it sends; the gateway composes the same words to show them ("what does the model see?").
Neither may import the other, so the words live here (ADR 0009). Pure: no I/O beyond this package's own files.
"""

from instructions.composition import Block, Persona, compose, stable_text, text_of, zone_of
from instructions.sheet import ToolSheet, known_tools, offered_names, sheet

__all__ = [
    "Block",
    "Persona",
    "ToolSheet",
    "compose",
    "known_tools",
    "offered_names",
    "sheet",
    "stable_text",
    "text_of",
    "zone_of",
]
