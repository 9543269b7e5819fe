"""JSON lines out of bytes: one value a line, whatever the network did to the reads."""

from llm.sse import EventTooLarge


class LineSplitter:
    """Feed reads of any size, get the lines that they complete, without those that are empty."""

    __slots__ = ("_limit", "_rest")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._rest = b""

    def feed(self, read: bytes) -> list[bytes]:
        """Take one read and return the lines that are now complete. Raises `EventTooLarge`."""
        lines = (self._rest + read if self._rest else read).split(b"\n")
        self._rest = lines.pop()
        if len(self._rest) > self._limit:
            raise EventTooLarge
        return [line for line in lines if line.strip()]

    def end(self) -> list[bytes]:
        """The stream is over: return what a server left without its last line end."""
        rest, self._rest = self._rest, b""
        return [rest] if rest.strip() else []
