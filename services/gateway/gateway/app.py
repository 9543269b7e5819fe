"""Builds the HTTP application out of its parts: routes, the page, the document, the edge around them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match, Route
from starlette.types import ASGIApp, Scope

from gateway.answers import answer
from gateway.edge import Edge
from gateway.http import Routes
from gateway.openapi import describe
from gateway.pages import WebPages
from gateway.parts import Parts
from gateway.routes import ROUTES


def make_app(parts: Parts, routes: Iterable[Routes] = ROUTES) -> ASGIApp:
    """The ASGI application that is served."""
    app = make_api(routes)
    app.state.parts = parts
    app.router.default = WebPages(parts.settings.web_dist)
    return Edge(app, parts.settings, lambda scope: methods_of(app, scope))


def make_api(routes: Iterable[Routes] = ROUTES) -> FastAPI:
    """The routes and their document, without anything behind them."""
    app = FastAPI(
        title="Retinue",
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        strict_content_type=False,
        # Spans are `chassis.tracing`'s, one a request; FastAPI's own would wrap every chunk of every stream.
        telemetry={"tracing": False, "metrics": False, "logs": False},
        generate_unique_id_function=lambda route: route.name,
    )
    for noun in routes:
        noun.add_to(app)
    describe(app)

    async def refuse(request: Request, wrong: Exception) -> Response:
        response = answer(wrong, request.scope.get("request_id", ""))
        if response.status_code == 405:
            response.headers["Allow"] = ", ".join(sorted({*methods_of(app, request.scope), "OPTIONS"}))
        return response

    app.add_exception_handler(HTTPException, refuse)
    app.add_exception_handler(RequestValidationError, refuse)
    return app


def methods_of(app: FastAPI, scope: Scope) -> set[str]:
    """Every method that some route takes on this path."""
    taken: set[str] = set()
    for route in app.router.routes:
        if isinstance(route, Route) and route.methods and _matches(route, scope):
            taken |= route.methods
    return taken


def _matches(route: Route, scope: Any) -> bool:
    return route.matches(scope)[0] is not Match.NONE
