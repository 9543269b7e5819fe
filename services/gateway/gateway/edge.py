"""The outermost layer, plain ASGI: request ids, the Host check, CORS, security headers, and what nobody caught.

It wraps streams too, so it copies nothing and looks only at the start of a response.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from chassis import logs
from chassis.errors import Refused
from contracts.ids import uuid7
from gateway.answers import answer, invalid, missing
from gateway.origins import host_is_ours, is_cors_origin
from gateway.settings import GatewaySettings

_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{8,128}")

SECURITY_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Frame-Options": "DENY",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}
API_POLICY = "default-src 'none'; frame-ancestors 'none'"
"""Content-Security-Policy of whatever is not a page of ours and brings none of its own."""
_HSTS = "max-age=31536000"

_CORS_METHODS = "GET, POST, PATCH, PUT, DELETE"
_CORS_HEADERS = "authorization, content-type, idempotency-key, last-event-id, prefer, x-request-id"
_CORS_SHOWN = (
    "preference-applied, retry-after, traceparent, x-request-id, x-retinue-turn, x-vercel-ai-ui-message-stream"
)

MethodsOf = Callable[[Scope], Iterable[str]]


class Edge:
    """Wraps the application. `methods_of` tells which methods the path of a scope takes, for OPTIONS."""

    def __init__(self, app: ASGIApp, settings: GatewaySettings, methods_of: MethodsOf) -> None:
        self._app = app
        self._settings = settings
        self._methods_of = methods_of

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        request_id = _request_id(headers)
        scope["request_id"] = request_id
        origin = headers.get("origin", "")
        cors = origin if is_cors_origin(origin, self._settings) else ""
        started = False

        async def dressed(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                self._dress(MutableHeaders(scope=message), request_id, cors)
            await send(message)

        with logs.correlated(correlation_id=request_id):
            early = self._early(scope, headers, cors)
            if early is not None:
                await early(scope, receive, dressed)
                return
            try:
                await self._app(scope, receive, dressed)
            except Exception as wrong:
                if started:
                    raise  # the connection breaks: a stream that ended cleanly here would read as a success
                await answer(wrong, request_id)(scope, receive, dressed)

    def _early(self, scope: Scope, headers: Headers, cors: str) -> Response | None:
        if not host_is_ours(headers.get("host", ""), self._settings):
            message = "This host name is not one of this deployment's. An admin can add it to RETINUE_ALLOWED_HOSTS."
            return _refusal(Refused(421, "unknown_host", message))
        if "\0" in scope["path"]:
            return _refusal(missing("address"))  # no text of ours holds one, and Postgres takes none
        if b"%00" in scope["query_string"]:
            return _refusal(invalid("A query cannot hold null characters."))
        if scope["method"] != "OPTIONS":
            return None
        methods = sorted({*self._methods_of(scope), "OPTIONS"})
        if methods == ["OPTIONS"]:
            return None  # no such path: the application says so
        response = Response(status_code=204, headers={"Allow": ", ".join(methods)})
        if cors and "access-control-request-method" in headers:
            response.headers["Access-Control-Allow-Methods"] = _CORS_METHODS
            response.headers["Access-Control-Allow-Headers"] = _CORS_HEADERS
            response.headers["Access-Control-Max-Age"] = "600"
        return response

    def _dress(self, headers: MutableHeaders, request_id: str, cors: str) -> None:
        headers["X-Request-Id"] = request_id
        for name, value in SECURITY_HEADERS.items():
            headers.setdefault(name, value)
        headers.setdefault("Content-Security-Policy", API_POLICY)
        headers.setdefault("Cache-Control", "no-store")
        if self._settings.is_https:
            headers.setdefault("Strict-Transport-Security", _HSTS)
        if self._settings.cors_origins:
            headers.add_vary_header("Origin")
        if cors:
            # Without Allow-Credentials: a foreign page comes with a token, never with a person's cookie.
            headers["Access-Control-Allow-Origin"] = cors
            headers["Access-Control-Expose-Headers"] = _CORS_SHOWN


def _refusal(refused: Refused) -> Response:
    return JSONResponse(refused.body(), refused.status, refused.headers)


def _request_id(headers: Headers) -> str:
    """The caller's own id if it is fit for a log, so that they can find their request in it; else a new one."""
    given = headers.get("x-request-id", "")
    return given if _REQUEST_ID.fullmatch(given) else str(uuid7())
