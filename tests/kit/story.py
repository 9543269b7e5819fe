"""A test that reads as a story: numbered steps, named when one fails, and told again on a page of the docs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def step(told: str) -> Iterator[None]:
    """One step of a story; the sentence is what docs/flows shows."""
    try:
        yield
    except BaseException as wrong:
        wrong.add_note(f"at this step of the story: {told}")
        raise
