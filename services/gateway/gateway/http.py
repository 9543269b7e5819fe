"""The one wrapper of every route: who may call, from where, how much, and the shape of every refusal.

    routes = Routes("threads")

    @routes.get("/api/threads", scope="read")
    async def list_threads(caller: CallerOf, parts: PartsOf) -> ThreadPage: ...

Auth is `required` unless a route says otherwise; the body is read, bounded and parsed before the route sees it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, TypeVar, cast

from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response

from chassis import logs, metrics, tracing
from gateway.answers import ErrorBody, answer, forbidden, unauthorized
from gateway.auth import Caller, Scope
from gateway.bodies import read_json
from gateway.origins import check_origin
from gateway.parts import Parts
from gateway.throttle import Rule

Auth = Literal["required", "optional", "none"]
Handler = Callable[[Request], Coroutine[Any, Any, Response]]
E = TypeVar("E", bound=Callable[..., Any])

_SECONDS = metrics.histogram(
    "retinue_http_request_seconds", "from the request's head to the start of its answer", ("route", "method", "status")
)

_MEANINGS = {
    400: "Malformed JSON",
    401: "Not signed in, or the token is not valid",
    403: "A foreign origin, or a scope that the credential lacks",
    404: "Not there, or not yours",
    409: "In conflict with what is there",
    410: "No longer there",
    413: "The body is larger than the limit",
    415: "Other media than JSON",
    422: "Well-formed, and not what this route takes",
    429: "Too many requests",
    500: "A bug; the log has more under the id",
    503: "Busy, or a server is away; see Retry-After",
}


@dataclass(frozen=True, slots=True)
class Access:
    """What a route demands before it is entered."""

    auth: Auth = "required"
    scopes: tuple[Scope, ...] = ()
    """Any of these will do; none are needed when empty."""
    allow_expired: bool = False
    """A session that has just expired may pass; the route lets it read a running stream and nothing else."""
    body_limit: Literal["body_limit", "chat_body_limit"] = "body_limit"
    """Name of the setting that bounds the body."""


class Routes:
    """Routes of one noun, declared now and added to an application later."""

    def __init__(self, tag: str) -> None:
        self._tag = tag
        self._declared: list[tuple[str, Callable[..., Any], Access, dict[str, Any]]] = []

    def get(self, path: str, **declared: Any) -> Callable[[E], E]:
        return self.route("GET", path, **declared)

    def post(self, path: str, **declared: Any) -> Callable[[E], E]:
        return self.route("POST", path, **declared)

    def patch(self, path: str, **declared: Any) -> Callable[[E], E]:
        return self.route("PATCH", path, **declared)

    def delete(self, path: str, **declared: Any) -> Callable[[E], E]:
        return self.route("DELETE", path, **declared)

    def route(
        self,
        method: str,
        path: str,
        *,
        auth: Auth = "required",
        scope: Scope | tuple[Scope, ...] = (),
        allow_expired: bool = False,
        body_limit: Literal["body_limit", "chat_body_limit"] = "body_limit",
        errors: tuple[int, ...] = (),
        **declared: Any,
    ) -> Callable[[E], E]:
        """Declare a route. `errors` are its own refusals beside those of the wrapper; the rest is FastAPI's."""
        access = Access(auth, (scope,) if isinstance(scope, str) else scope, allow_expired, body_limit)

        def declare(endpoint: E) -> E:
            described = {**declared, "methods": [method], "responses": {**_refusals(access, method, errors)}}
            described["responses"] |= declared.get("responses", {})
            described["openapi_extra"] = {**_security(access), **declared.get("openapi_extra", {})}
            self._declared.append((path, endpoint, access, described))
            return endpoint

        return declare

    def add_to(self, app: FastAPI) -> None:
        """Add every declared route to the application."""
        for path, endpoint, access, declared in self._declared:
            route_class = cast("type[APIRoute]", partial(GuardedRoute, access=access))
            app.router.add_api_route(path, endpoint, tags=[self._tag], route_class_override=route_class, **declared)


class GuardedRoute(APIRoute):
    """A route behind the wrapper."""

    def __init__(self, path: str, endpoint: Callable[..., Any], *, access: Access, **declared: Any) -> None:
        self.access = access
        super().__init__(path, endpoint, **declared)

    def get_route_handler(self) -> Handler:
        enter = super().get_route_handler()

        async def handle(request: Request) -> Response:
            begun = time.perf_counter()
            with tracing.server_span(request.method, self.path, request.headers):
                try:
                    response = await self._admitted(request, enter)
                except Exception as wrong:  # noqa: BLE001 - the one place that turns exceptions into answers
                    response = answer(wrong, request.scope.get("request_id", ""))
                if traceparent := tracing.inject().get("traceparent"):
                    response.headers["traceparent"] = traceparent
                labels = (self.path, request.method, str(response.status_code))
                _SECONDS.labels(*labels).observe(time.perf_counter() - begun)
                return response

        return handle

    async def _admitted(self, request: Request, enter: Handler) -> Response:
        parts: Parts = request.app.state.parts
        with_cookie = self.access.auth != "none" and parts.auth.has_cookie(request.headers)
        if "authorization" not in request.headers or self.access.auth == "none":
            check_origin(request.method, request.headers, parts.settings, with_cookie=with_cookie)
        caller = await self._caller(request, parts)
        await _count(request, parts, caller)
        request.state.caller = caller
        with logs.correlated(user_id=caller.user_id if caller else None):
            if self.body_field is not None:
                limit: int = getattr(parts.settings, self.access.body_limit)
                request = await read_json(request, limit, parts.settings.body_timeout)
            response = await enter(request)
        if caller is not None and caller.was_extended and (code := parts.cookie.read(request.headers)):
            parts.cookie.set(response, code)
        return response

    async def _caller(self, request: Request, parts: Parts) -> Caller | None:
        if self.access.auth == "none":
            return None
        caller = await parts.auth.identify(request.headers)
        if caller is not None and caller.is_expired and not self.access.allow_expired:
            caller = None
        if caller is None:
            if self.access.auth == "required":
                raise unauthorized()
            return None
        if self.access.scopes and not caller.may(self.access.scopes):
            wanted = " or ".join(self.access.scopes)
            raise forbidden(f"This needs the scope {wanted}.", "scope_missing", scopes=list(self.access.scopes))
        return caller


async def _count(request: Request, parts: Parts, caller: Caller | None) -> None:
    settings = parts.settings
    if caller is not None and settings.requests_per_user:
        rule = Rule("requests_per_user", settings.requests_per_user, settings.request_window, None)
        await parts.throttle.hit(rule, str(caller.user_id))
    elif caller is None and settings.requests_per_address:
        rule = Rule("requests_per_address", settings.requests_per_address, settings.request_window, None)
        await parts.throttle.hit(rule, parts.addresses.of(request))


def _refusals(access: Access, method: str, own: tuple[int, ...]) -> dict[int | str, dict[str, Any]]:
    known = {429, 500, 503, *own}
    if access.auth != "none":
        known |= {401}
    if access.scopes or method != "GET":
        known |= {403}
    if method in ("POST", "PATCH", "PUT"):
        known |= {400, 413, 415, 422}
    return {status: {"model": ErrorBody, "description": _MEANINGS[status]} for status in sorted(known)}


def _security(access: Access) -> dict[str, Any]:
    ways: list[dict[str, list[str]]] = [{"session": []}, {"token": []}]
    security = {"required": ways, "optional": [*ways, {}], "none": []}[access.auth]
    return {"security": security, "x-retinue-scopes": list(access.scopes)}
