"""One error shape for everything that is not a success: `{error, message, …}` with the right status."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, Response

from chassis import logs
from chassis.errors import Busy, Refused
from store import StoreAway

log = logs.get(__name__)

_LONGEST_LIST = 20
_LONGEST_TEXT = 400


class ErrorBody(BaseModel):
    """Why a request was refused. More fields may follow: a limit, a field name, an id to quote."""

    model_config = ConfigDict(extra="allow")

    error: str = Field(description="A stable code for programs, in snake case.", examples=["not_found"])
    message: str = Field(description="One sentence for people.", examples=["There is no such thread."])


def missing(noun: str = "thing") -> Refused:
    """Not there, or not yours: the answer is the same."""
    return Refused(404, "not_found", f"There is no such {noun}.")


def forbidden(message: str, error: str = "forbidden", **fields: Any) -> Refused:
    return Refused(403, error, message, **fields)


def invalid(message: str, **fields: Any) -> Refused:
    """The request is well-formed JSON and yet not what this route takes."""
    return Refused(422, "invalid", _short(message), **fields)


def unauthorized(message: str = "Sign in first.") -> Refused:
    return Refused(401, "unauthorized", message, headers={"WWW-Authenticate": "Bearer"})


def refused_by(wrong: Exception) -> Refused | None:
    """The refusal that an exception stands for; none if it is a bug."""
    match wrong:
        case Refused():
            return wrong
        case StoreAway():
            return Busy("The database does not answer at the moment; try again.")
        case RequestValidationError():
            return _invalid(wrong.errors())
        case ClientDisconnect():
            return Refused(400, "disconnected", "The request ended before its body did.")
        case HTTPException(status_code=404):
            return missing("address")
        case HTTPException(status_code=405):
            return Refused(405, "method_not_allowed", "This address does not take that method.")
        case HTTPException():
            return Refused(wrong.status_code, "refused", str(wrong.detail))
        case _:
            return None


def answer(wrong: Exception, request_id: str) -> Response:
    """The response for an exception; what is not a refusal is logged under the id that the answer carries."""
    refused = refused_by(wrong)
    if isinstance(wrong, StoreAway):
        log.warning("the database was away for a request", request_id=request_id, reason=str(wrong))
    if refused is None:
        log.error("a request failed", request_id=request_id, exc_info=wrong)
        message = "Something went wrong here. The log has more under this id."
        refused = Refused(500, "internal", message, id=request_id)
    return JSONResponse(refused.body(), refused.status, refused.headers)


def _invalid(errors: Sequence[Any]) -> Refused:
    if errors and all(error["loc"][:1] == ("path",) for error in errors):
        return missing()  # an id of another form than ours names nothing
    fields = [{"field": _field(error["loc"]), "message": _short(error["msg"])} for error in errors[:_LONGEST_LIST]]
    first = fields[0]
    return invalid(f"{first['field']}: {first['message']}", fields=fields)


def _field(steps: Sequence[str | int]) -> str:
    """`message.parts.0.text`: without the place it was in, and without pydantic's names for alternatives."""
    named = [str(step) for step in steps[1:] if not {"[", "("} & set(str(step))]
    return _short(".".join(named) or str(steps[0]))


def _short(text: str) -> str:
    """Messages quote what was sent; what was sent may be long."""
    return text if len(text) <= _LONGEST_TEXT else f"{text[: _LONGEST_TEXT // 2]} … {text[-_LONGEST_TEXT // 2 :]}"
