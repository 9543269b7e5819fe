"""What the person who started the stack is shown while it starts, runs and stops."""

import json
import os
import sys
import time
from typing import TextIO


class Report:
    """Progress for the terminal (stderr) and, for `--detach`, for the waiting parent (a pipe, JSON lines)."""

    def __init__(self, notify: int | None = None) -> None:
        self._notify = notify
        self._begun = time.monotonic()

    def progress(self, sentence: str) -> None:
        _say(sys.stderr, f"[{time.monotonic() - self._begun:5.1f} s] {sentence}")
        self._tell({"progress": sentence})

    def confide(self, sentence: str) -> None:
        """A secret for the person who starts the stack: shown to them, kept out of the supervisor's log."""
        if self._notify is None:
            _say(sys.stderr, sentence)
        self._tell({"progress": sentence})

    def ready(self, url: str, warning: str | None = None) -> None:
        """The one line on stdout that scripts wait for; behind it, on stderr, what will not work all the same."""
        show_ready(url, warning)
        self._tell({"ready": url} | ({"warning": warning} if warning else {}))
        self._close()

    def failed(self, sentence: str) -> None:
        self._tell({"failed": sentence})
        self._close()

    def _tell(self, message: dict[str, str]) -> None:
        if self._notify is None:
            return
        try:
            os.write(self._notify, json.dumps(message).encode() + b"\n")
        except BrokenPipeError:  # the parent was interrupted; the stack goes on
            self._close()

    def _close(self) -> None:
        if self._notify is not None:
            os.close(self._notify)
            self._notify = None


def show_ready(url: str, warning: str | None) -> None:
    _say(sys.stdout, f"Retinue is ready: {url}")
    if warning:
        _say(sys.stderr, f"Warning: {warning}.")


def _say(stream: TextIO, sentence: str) -> None:
    try:
        print(sentence, file=stream, flush=True)
    except OSError:
        # Whoever read it has gone (`make up | head -1`): the stack goes on without an audience.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
