"""What can go wrong in a model call, each error named by how the caller should react.

Nothing in this library retries: the runner owns that, and decides by `retryable`, `retry_after` and `started`.
`str(error)` is one sentence fit for the person who waits for the answer; `detail` is for the log. Neither ever holds
a key.
"""

from typing import ClassVar, Literal

BreakReason = Literal["unreachable", "lost", "silence", "not_a_stream", "bad_data", "unfinished"]


class ModelError(Exception):
    """Base of all errors of a model call.

    code:        stable name for the wire and the ledger.
    retryable:   whether the same call may succeed when it is simply made again.
    started:     whether text, reasoning or tool calls had already been yielded; a retry then needs a cut.
    retry_after: seconds that the provider asked to wait, or None.
    status:      HTTP status, or None if there was no answer.
    """

    code: ClassVar[str] = "model_error"
    retryable: ClassVar[bool] = False

    def __init__(
        self,
        text: str,
        *,
        detail: str = "",
        status: int | None = None,
        retry_after: float | None = None,
        started: bool = False,
    ) -> None:
        super().__init__(text)
        self.text = text
        self.detail = detail
        self.status = status
        self.retry_after = retry_after
        self.started = started


class ModelBusy(ModelError):
    """The provider cannot answer now (408, 409, 425, 429, 5xx): back off and try again."""

    code = "model_busy"
    retryable = True


class Adapted(ModelError):
    """The provider does not take a part of the request that it can do without; the next one will leave it out."""

    code = "request_adapted"
    retryable = True


class StreamBroken(ModelError):
    """There was no usable answer, or it broke off: the connection, its bytes, or its silence. Try again.

    reason: `unreachable` (no connection), `lost` (cut off), `silence` (a time-out), `not_a_stream` (a web page or the
    like), `bad_data` (not the wire format), `unfinished` (a clean end without a finish).
    """

    code = "stream_broken"
    retryable = True

    def __init__(
        self,
        text: str,
        *,
        reason: BreakReason,
        detail: str = "",
        status: int | None = None,
        started: bool = False,
    ) -> None:
        super().__init__(text, detail=detail, status=status, started=started)
        self.reason: BreakReason = reason


class AnswerTooLarge(ModelError):
    """The provider sent a piece larger than anybody could pass on; it would do so again."""

    code = "too_large"


class KeyRefused(ModelError):
    """The provider does not accept the key, or its account has no credit (401, 402, 403): a person must act."""

    code = "key_refused"


class ModelUnknown(ModelError):
    """The provider does not know the model, or its address has no such interface (404)."""

    code = "model_unknown"


class RequestRefused(ModelError):
    """The provider will not take this request however often it is sent (400, 413, 422, …).

    `context_full` says that the conversation is too long for the model: compact, then call again.
    """

    code = "request_refused"

    def __init__(
        self,
        text: str,
        *,
        detail: str = "",
        status: int | None = None,
        started: bool = False,
        context_full: bool = False,
    ) -> None:
        super().__init__(text, detail=detail, status=status, started=started)
        self.context_full = context_full


class NotConfigured(ModelError):
    """No such provider, or its key is missing: the text says which variable to set, or what can be used."""

    code = "model_not_configured"
