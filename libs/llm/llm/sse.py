"""Server-sent events out of bytes: the data of each event, whatever the network did to the reads."""

BOM = b"\xef\xbb\xbf"


class EventTooLarge(Exception):
    """One event exceeded the limit in bytes; the stream cannot be trusted any more."""


class Splitter:
    """Feed reads of any size, get the data of each event that they complete.

    Lines end with LF, CR LF or CR; comments and other fields are skipped; several data lines are joined with LF.
    The text of an event may be cut at any byte, even within a character, since only whole lines are looked at.
    """

    __slots__ = ("_after_cr", "_begun", "_data", "_limit", "_rest", "_size")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._rest = b""
        self._data: list[bytes] = []
        self._size = 0
        self._begun = False
        self._after_cr = False

    def feed(self, read: bytes) -> list[bytes]:
        """Take one read and return the data of the events that are now complete."""
        if self._is_between and read.startswith(b"data: ") and read.endswith(b"\n\n") and read.count(b"\n") == 2:
            # One whole event of one line, as nearly every read of a paced stream is.
            data = read[6:-2]
            if b"\r" not in data and len(data) <= self._limit:
                self._begun = True
                return [data]
        if self._after_cr or b"\r" in read:
            read = self._with_plain_line_ends(read)
        if self._rest:
            read = self._rest + read
        lines = read.split(b"\n")
        self._rest = lines.pop()
        if len(self._rest) > self._limit:
            raise EventTooLarge
        return self._events(lines) if lines else []

    @property
    def _is_between(self) -> bool:
        """Nothing of an event has been read that is not complete."""
        return not (self._rest or self._data or self._after_cr)

    def end(self) -> list[bytes]:
        """The stream is over: return what a server left without its last empty line."""
        lines = [self._rest, b""]
        self._rest = b""
        return self._events(lines)

    def _events(self, lines: list[bytes]) -> list[bytes]:
        if not self._begun:
            self._begun = True
            lines[0] = lines[0].removeprefix(BOM)
        events: list[bytes] = []
        for line in lines:
            if line.startswith(b"data:"):
                data = line[6:] if line[5:6] == b" " else line[5:]
                self._size += len(data)
                if self._size > self._limit:
                    raise EventTooLarge
                self._data.append(data)
            elif not line and self._data:
                events.append(self._data[0] if len(self._data) == 1 else b"\n".join(self._data))
                self._data.clear()
                self._size = 0
        return events

    def _with_plain_line_ends(self, read: bytes) -> bytes:
        # A CR ends its line at once; if the LF of a CR LF comes with the next read it must not end another one.
        if self._after_cr and read.startswith(b"\n"):
            read = read[1:]
            if not read:
                self._after_cr = False
                return read
        self._after_cr = read.endswith(b"\r")
        return read.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
