"""The HTTP side: the provider's interface under `/v1`, and the doors by which tests steer it and look back."""

import asyncio
import json
from typing import Any, cast

from aiohttp import web

from cli.dev.model.player import Player
from cli.dev.model.reply import ScriptError
from cli.dev.model.script import Director, Script, asked_from, script_from
from cli.dev.model.served import Record, Served
from cli.dev.model.wire import frames, whole

BODY_LIMIT = 64 * 1024 * 1024  # bytes of a request
WAIT_LIMIT = 300.0  # seconds that `GET /served?wait=` may hold


class ScriptedModel:
    """One server: its script, its records, its routes. `key`, if given, is the only one that is accepted."""

    def __init__(self, script: Script, *, key: str = "", keep: int = 2000) -> None:
        self.director = Director(script)
        self.served = Served(keep)
        self._key = key

    def application(self) -> web.Application:
        """The routes. Run it with `handler_cancellation`, by which a closed connection is noticed at once."""
        app = web.Application(client_max_size=BODY_LIMIT)
        app.add_routes(
            [
                web.post("/v1/chat/completions", self._complete),
                web.get("/v1/models", self._models),
                web.get("/script", self._show_script),
                web.put("/script", self._load_script),
                web.delete("/script", self._drop_script),
                web.get("/served", self._show_served),
                web.delete("/served", self._forget_served),
                web.get("/events", self._events),
            ]
        )
        return app

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        authorization = request.headers.get("Authorization", "")
        if self._key and authorization != f"Bearer {self._key}":
            return _error(401, "Incorrect API key provided", "invalid_api_key")
        try:
            body: dict[str, Any] = await request.json()
            asked = asked_from(body)
            reply = self.director.reply(asked)
        except ScriptError as error:
            return _error(400, f"the scripted model: {error}", "bad_script")
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            return _error(400, f"not a chat completion request: {error!r}", "invalid_request_error")
        script = self.director.script
        if script.strict and asked.model not in script.models:
            return _error(404, f"The model `{asked.model}` does not exist", "model_not_found")
        record = self.served.begin(asked, reply, body, with_key=bool(authorization))
        outcome = "failed"
        try:
            response, outcome = await self._play(request, record)
            return response
        except (asyncio.CancelledError, ConnectionResetError):
            outcome = "cancelled"
            raise asyncio.CancelledError from None
        finally:
            self.served.end(record, outcome)

    async def _play(self, request: web.Request, record: Record) -> tuple[web.StreamResponse, str]:
        reply = record.reply
        if reply.delay:
            await asyncio.sleep(reply.delay)
        if reply.silence:
            await asyncio.Event().wait()
        if reply.status:
            response = _error(reply.status, f"the scripted model says {reply.status}", "scripted")
            if reply.retry_after is not None:
                response.headers["Retry-After"] = f"{reply.retry_after:g}"
            return response, f"status {reply.status}"
        if reply.html:
            page = "<!doctype html><html><body><h1>Welcome to nginx!</h1></body></html>"
            return web.Response(text=page, content_type="text/html"), "html"
        if not record.body.get("stream"):
            return web.json_response(whole(reply, record)), "finished"
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-cache"})
        await response.prepare(request)
        transport = cast("asyncio.Transport", request.transport)
        outcome = await Player(transport, frames(reply, record), reply.rate, reply.bytes).play()
        return response, outcome

    async def _models(self, request: web.Request) -> web.Response:
        models = [{"id": name, "object": "model", "created": 0, "owned_by": "scripted"} for name in self._names()]
        return web.json_response({"object": "list", "data": models})

    def _names(self) -> tuple[str, ...]:
        return self.director.script.models

    async def _show_script(self, request: web.Request) -> web.Response:
        return web.json_response(self.director.script.source)

    async def _load_script(self, request: web.Request) -> web.Response:
        try:
            self.director.load(script_from(json.loads(await request.text())))
        except ValueError as error:
            return _error(400, str(error), "bad_script")
        return web.Response(status=204)

    async def _drop_script(self, request: web.Request) -> web.Response:
        self.director.load(Script())
        return web.Response(status=204)

    async def _show_served(self, request: web.Request) -> web.Response:
        """`?user=` and `?model=` choose (by what they contain); `?wait=SECONDS&started=N&ended=N` waits first."""
        query = request.query
        user, model = query.get("user", ""), query.get("model", "")

        def fits(record: Record) -> bool:
            return user in record.asked.user and model in record.model

        try:
            wait = min(float(query.get("wait", 0)), WAIT_LIMIT)
            started, ended = int(query.get("started", 0)), int(query.get("ended", 0))
        except ValueError:
            return _error(400, "wait, started and ended are numbers", "bad_query")
        complete = await self.served.wait(fits, started, ended, wait) if wait else True
        records = [record.as_json() for record in self.served.find(fits)]
        return web.json_response({"complete": complete, "served": records})

    async def _forget_served(self, request: web.Request) -> web.Response:
        self.served.clear()
        return web.Response(status=204)

    async def _events(self, request: web.Request) -> web.StreamResponse:
        """A line of JSON for each request that begins and each that ends, for people who look on."""
        response = web.StreamResponse(headers={"Content-Type": "application/x-ndjson"})
        await response.prepare(request)
        async for record in self.served.follow():
            await response.write(json.dumps(record.as_json()).encode() + b"\n")
        return response


async def serve(model: ScriptedModel, host: str, port: int) -> tuple[web.AppRunner, int]:
    """Start serving and return the runner, to be cleaned up by the caller, and the port (0 finds a free one)."""
    runner = web.AppRunner(model.application(), handler_cancellation=True, access_log=None, shutdown_timeout=0.5)
    await runner.setup()
    await web.TCPSite(runner, host, port).start()
    address: tuple[str, int] = runner.addresses[0][:2]
    return runner, address[1]


def _error(status: int, message: str, code: str) -> web.Response:
    error = {"message": message, "type": "invalid_request_error" if status < 500 else "server_error", "code": code}
    return web.json_response({"error": error}, status=status)
