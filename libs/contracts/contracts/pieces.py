"""Text that arrives in pieces: an append costs what a list's does, and a thousand pieces do not stay so many objects.

A short string takes some 50 bytes beside its characters; with hundreds of long answers under way that was more than
all else that they hold.
"""

_MOST = 64
"""Pieces that are kept apart before they become one."""


class Pieces:
    """Text under way; false while nothing was said."""

    __slots__ = ("_joined", "_new")

    def __init__(self, text: str = "") -> None:
        self._joined = [text] if text else []
        self._new: list[str] = []

    def append(self, piece: str) -> None:
        new = self._new
        new.append(piece)
        if len(new) >= _MOST:
            self._joined.append("".join(new))
            new.clear()

    def text(self) -> str:
        """All of it; what was joined once is not joined again piece by piece."""
        text = "".join((*self._joined, *self._new))
        self._joined = [text] if text else []
        self._new.clear()
        return text

    def __bool__(self) -> bool:
        return bool(self._joined or self._new)
