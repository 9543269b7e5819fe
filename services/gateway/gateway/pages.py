"""The web page: built files from memory, with caching that never shows yesterday's page with today's scripts.

Files with a hash in their name are kept by browsers for ever; `index.html`, which names them, is always asked for.
Paths that the page itself routes (`/`, `/t/…`, `/settings/…`, …) all get `index.html`.
"""

from __future__ import annotations

import gzip
import hashlib
import mimetypes
import re
from dataclasses import dataclass
from pathlib import Path

from starlette.datastructures import Headers
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.types import Receive, Scope, Send

from chassis import logs
from chassis.errors import Refused
from gateway.answers import missing

log = logs.get(__name__)

PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; "
    "connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
_MACHINE_PATHS = ("/api", "/v1", "/mcp", "/openapi.json", "/.well-known")
_ROUTED_BY_THE_PAGE = re.compile(
    r"/|/(sign-in|register|start|archive|usage)/?|/(agents|settings)(/[^/]+){0,2}/?|/admin/dead-letters/?|/t/[^/]+/?"
)
_HASHED = re.compile(r"[.-][A-Za-z0-9_-]{8,}\.\w+$")
_COMPRESSED = re.compile(r"\.(html|js|mjs|css|svg|json|webmanifest|txt|map)$")
_FOR_EVER = "public, max-age=31536000, immutable"
_ASK_FIRST = "no-cache"
_NOT_BUILT = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Retinue</title>
<h1>Retinue is running</h1><p>The web page is not built yet. Run <code>make setup</code> in the clone and start again;
the API is there meanwhile: <a href="/openapi.json">/openapi.json</a>.</p></html>"""


@dataclass(frozen=True, slots=True)
class _File:
    body: bytes
    packed: bytes | None
    media_type: str
    etag: str
    cache: str


class WebPages:
    """An ASGI application for everything that is no route; `folder` holds the built page, or is none."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._files: dict[str, _File] = {}
        self._load()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1000})
            return
        await self.answer(scope["method"], scope["path"], Headers(scope=scope))(scope, receive, send)

    def answer(self, method: str, path: str, headers: Headers) -> Response:
        """The file, the page, or the refusal for a path that no route has."""
        if _is_machine_path(path):
            return _refusal(missing("address"))
        if method not in ("GET", "HEAD"):
            return _refusal(missing("address"))
        if file := self._files.get(path.lstrip("/")):
            return _respond(file, headers)
        if _ROUTED_BY_THE_PAGE.fullmatch(path):
            return self._page(headers, 200)
        if "text/html" in headers.get("accept", ""):
            return self._page(headers, 404)  # the page says so in its own words
        return _refusal(missing("address"))

    def _page(self, headers: Headers, status: int) -> Response:
        if "index.html" not in self._files:
            self._load()  # it may have been built since
        index = self._files.get("index.html")
        if index is None:
            return HTMLResponse(_NOT_BUILT, 200 if status == 200 else 404, {"Cache-Control": "no-store"})
        return _respond(index, headers, status)

    def _load(self) -> None:
        if self._folder is None or not (self._folder / "index.html").is_file():
            return
        root = self._folder.resolve()
        for path in sorted(root.rglob("*")):
            if path.is_file() and path.resolve().is_relative_to(root):
                name = path.relative_to(root).as_posix()
                self._files[name] = _file(name, path.read_bytes())
        log.info("web page loaded", files=len(self._files), bytes=sum(len(file.body) for file in self._files.values()))


def _file(name: str, body: bytes) -> _File:
    packed = gzip.compress(body, 9, mtime=0) if _COMPRESSED.search(name) and len(body) > 1024 else None
    cache = "no-store" if name == "index.html" else _FOR_EVER if _HASHED.search(name) else _ASK_FIRST
    media_type = mimetypes.guess_type(name)[0] or "application/octet-stream"
    return _File(body, packed, media_type, f'"{hashlib.sha256(body).hexdigest()[:32]}"', cache)


def _respond(file: _File, asked: Headers, status: int = 200) -> Response:
    headers = {"Cache-Control": file.cache, "Vary": "Accept-Encoding", "ETag": file.etag}
    headers["Content-Security-Policy"] = PAGE_POLICY
    if status == 200 and file.etag in asked.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    body = file.body
    if file.packed is not None and _takes_gzip(asked):
        body, headers["Content-Encoding"] = file.packed, "gzip"
    return Response(body, status, headers, file.media_type)


def _takes_gzip(asked: Headers) -> bool:
    return any(
        coding.partition(";")[0].strip() == "gzip" and not re.search(r"q=0(\.0*)?$", coding.strip())
        for coding in asked.get("accept-encoding", "").lower().split(",")
    )


def _is_machine_path(path: str) -> bool:
    return any(path == prefix or path.startswith(f"{prefix}/") for prefix in _MACHINE_PATHS)


def _refusal(refused: Refused) -> Response:
    return JSONResponse(refused.body(), refused.status, refused.headers)
