"""The OpenAPI document: generated, served at /openapi.json, and kept in docs/reference/openapi.json.

`python -m gateway.openapi` prints it.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

_DESCRIPTION = (
    "Everything the web page does, and nothing else is needed to build on it. Errors all have one shape: "
    "`error` for programs, `message` for people, and more where it helps."
)
_SCHEMES: dict[str, Any] = {
    "session": {
        "type": "apiKey",
        "in": "cookie",
        "name": "retinue_session",
        "description": "Set by register and login; unsafe methods also need an Origin of this site. Over TLS the name "
        "is `__Host-retinue_session`.",
    },
    "token": {"type": "http", "scheme": "bearer", "description": "An API token; needs no Origin."},
}


def describe(app: FastAPI) -> None:
    """Give the application its document and the route that serves it."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = document(app)
        return app.openapi_schema

    app.openapi = openapi

    async def serve(_request: Request) -> Response:
        return JSONResponse(openapi(), headers={"Cache-Control": "no-cache"})

    app.router.add_route("/openapi.json", serve, methods=["GET"], include_in_schema=False)


def document(app: FastAPI) -> dict[str, Any]:
    """The document as plain data."""
    made = get_openapi(title="Retinue", version="1", description=_DESCRIPTION, routes=app.routes)
    made.setdefault("components", {})["securitySchemes"] = _SCHEMES
    for methods in made["paths"].values():
        for operation in methods.values():
            _own_refusal(operation)
    for shape in ("HTTPValidationError", "ValidationError"):
        made["components"].get("schemas", {}).pop(shape, None)
    return made


def _own_refusal(operation: dict[str, Any]) -> None:
    """The framework announces its own 422 for every parameter; ours has our shape, and a bad path is a 404."""
    announced = operation["responses"].get("422", {})
    if "HTTPValidationError" not in str(announced):
        return
    if any(parameter["in"] == "query" for parameter in operation.get("parameters", ())):
        schema = {"$ref": "#/components/schemas/ErrorBody"}
        described = {"description": "A parameter is not what this route takes"}
        operation["responses"]["422"] = {**described, "content": {"application/json": {"schema": schema}}}
    else:
        del operation["responses"]["422"]


def text() -> str:
    """The document as it is kept in the repository."""
    from gateway.app import make_api  # which imports us, to describe itself

    return json.dumps(make_api().openapi(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.stdout.write(text())
