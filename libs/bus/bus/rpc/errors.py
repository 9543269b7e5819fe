"""How a question can fail, named by what the asker does."""

from __future__ import annotations


class NobodyAnswers(Exception):
    """Try again shortly: no process hears the question, or none answered before its deadline."""


class AnswerRefused(Exception):
    """Tell the person: the callee will not do it. `status` as HTTP means it, `error` for programs."""

    def __init__(self, status: int, error: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.error = error
        self.message = message
