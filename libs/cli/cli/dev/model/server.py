"""The HTTP side: the providers' interfaces, and the doors by which tests steer it and look back."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any, cast

from aiohttp import web

from cli.dev.model.listings import Shelf, capabilities
from cli.dev.model.player import Player
from cli.dev.model.reply import ScriptError
from cli.dev.model.script import Director, Script, script_from
from cli.dev.model.served import Record, Served
from cli.dev.model.wire import Unacceptable, Wire
from cli.dev.model.wire_anthropic import AnthropicWire
from cli.dev.model.wire_chat import ChatWire
from cli.dev.model.wire_gemini import GeminiWire
from cli.dev.model.wire_ollama import OllamaWire
from cli.dev.model.wire_responses import ResponsesWire

BODY_LIMIT = 64 * 1024 * 1024  # bytes of a request
WAIT_LIMIT = 300.0  # seconds that `GET /served?wait=` may hold

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class ScriptedModel:
    """One server: its script, its records, its routes. `key`, if given, is the only one that is accepted."""

    def __init__(self, script: Script, *, key: str = "", keep: int = 2000) -> None:
        self.director = Director(script)
        self.served = Served(keep)
        self._shelf = Shelf()
        self._key = key

    def application(self) -> web.Application:
        """The routes. Run it with `handler_cancellation`, by which a closed connection is noticed at once."""
        app = web.Application(client_max_size=BODY_LIMIT)
        app.add_routes(
            [
                web.post("/v1/chat/completions", self._answers(ChatWire)),
                web.post("/v1/responses", self._answers(ResponsesWire)),
                web.post("/v1/messages", self._answers(AnthropicWire)),
                web.post(r"/v1beta/models/{model:.+}:{method:\w+}", self._answers(GeminiWire)),
                web.post("/api/chat", self._answers(OllamaWire)),
                web.get("/v1/models", self._models),
                web.get("/v1beta/models", self._models),
                web.get("/api/tags", self._models),
                web.post("/api/show", self._show_model),
                web.post("/api/pull", self._pull),
                web.get("/api/version", self._version),
                web.get("/script", self._show_script),
                web.put("/script", self._load_script),
                web.delete("/script", self._drop_script),
                web.get("/served", self._show_served),
                web.delete("/served", self._forget_served),
                web.get("/events", self._events),
            ]
        )
        return app

    def _answers(self, wire: type[Wire]) -> Handler:
        async def answer(request: web.Request) -> web.StreamResponse:
            return await self._answer(wire, request)

        return answer

    async def _answer(self, wire: type[Wire], request: web.Request) -> web.StreamResponse:
        def refused(status: int, message: str, code: str) -> web.Response:
            return web.json_response(wire.error(status, message, code), status=status)

        key = _key_of(request)
        if self._key and key != self._key:
            return refused(401, "Incorrect API key provided", "invalid_api_key")
        script = self.director.script
        try:
            body: dict[str, Any] = await request.json()
            asked = wire.asked(body, dict(request.match_info))
            wire.check(asked, body)
            reply = self.director.reply(asked)
        except Unacceptable as error:
            return refused(400, str(error), "invalid_value")
        except ScriptError as error:
            return refused(400, f"the scripted model: {error}", "bad_script")
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            return refused(400, f"not a request of the {wire.name} wire: {error!r}", "invalid_request_error")
        if script.strict and asked.model not in self._shelf.names(script):
            text = f"model '{asked.model}' not found" if wire is OllamaWire else None
            return refused(404, text or f"The model `{asked.model}` does not exist", "model_not_found")
        if reply.refuses and _has(body, reply.refuses):
            text = f"Unsupported parameter: '{reply.refuses}' is not supported with this model."
            return refused(400, text, "unsupported_parameter")
        if wire is OllamaWire and (cannot := _cannot(body, capabilities(script, asked.model))):
            return refused(400, f'"{asked.model}" does not support {cannot}', "")
        record = self.served.begin(asked, reply, body, with_key=bool(key), wire=wire.name)
        outcome = "failed"
        try:
            response, outcome = await self._play(wire, request, record)
            return response
        except (asyncio.CancelledError, ConnectionResetError):
            outcome = "cancelled"
            raise asyncio.CancelledError from None
        finally:
            self.served.end(record, outcome)

    async def _play(self, wire: type[Wire], request: web.Request, record: Record) -> tuple[web.StreamResponse, str]:
        reply = record.reply
        if reply.delay:
            await asyncio.sleep(reply.delay)
        if reply.silence:
            await asyncio.Event().wait()
        if reply.status:
            refusal = wire.error(reply.status, f"the scripted model says {reply.status}", "scripted")
            response = web.json_response(refusal, status=reply.status)
            if reply.retry_after is not None:
                response.headers["Retry-After"] = f"{reply.retry_after:g}"
            return response, f"status {reply.status}"
        if reply.html:
            page = "<!doctype html><html><body><h1>Welcome to nginx!</h1></body></html>"
            return web.Response(text=page, content_type="text/html"), "html"
        if not record.asked.streams:
            return web.json_response(wire(reply, record).whole()), "finished"
        response = web.StreamResponse(headers={"Content-Type": wire.content_type, "Cache-Control": "no-cache"})
        await response.prepare(request)
        transport = cast("asyncio.Transport", request.transport)
        outcome = await Player(transport, wire(reply, record).frames(), reply.rate, reply.bytes).play()
        return response, outcome

    async def _models(self, request: web.Request) -> web.Response:
        if self._key and _key_of(request) != self._key:
            return _error(401, "Incorrect API key provided", "invalid_api_key")
        script, shelf = self.director.script, self._shelf
        if request.path.startswith("/api/"):
            return web.json_response(shelf.ollama_tags(script))
        if request.path.startswith("/v1beta/"):
            return web.json_response(shelf.gemini(script))
        is_anthropic = "anthropic-version" in request.headers
        return web.json_response(shelf.anthropic(script) if is_anthropic else shelf.openai(script))

    async def _show_model(self, request: web.Request) -> web.Response:
        name = _name_of(await request.json())
        shown = self._shelf.ollama_show(self.director.script, name)
        if shown is None:
            return web.json_response({"error": f"model '{name}' not found"}, status=404)
        return web.json_response(shown)

    async def _pull(self, request: web.Request) -> web.StreamResponse:
        name = _name_of(await request.json())
        response = web.StreamResponse(headers={"Content-Type": "application/x-ndjson"})
        await response.prepare(request)
        async for pause, line in self._shelf.pull(self.director.script, name):
            if pause:
                await asyncio.sleep(pause)
            await response.write(line)
        return response

    async def _version(self, request: web.Request) -> web.Response:
        return web.json_response({"version": "0.13.0"})

    async def _show_script(self, request: web.Request) -> web.Response:
        return web.json_response(self.director.script.source)

    async def _load_script(self, request: web.Request) -> web.Response:
        try:
            self.director.load(script_from(json.loads(await request.text())))
            self._shelf = Shelf()
        except ValueError as error:
            return _error(400, str(error), "bad_script")
        return web.Response(status=204)

    async def _drop_script(self, request: web.Request) -> web.Response:
        self.director.load(Script())
        self._shelf = Shelf()
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
    return web.json_response(ChatWire.error(status, message, code), status=status)


def _key_of(request: web.Request) -> str:
    """The key that a request brings, wherever its provider wants it."""
    bearer = request.headers.get("Authorization", "").removeprefix("Bearer ")
    headers = request.headers
    return headers.get("x-api-key") or headers.get("x-goog-api-key") or request.query.get("key") or bearer


def _name_of(body: dict[str, Any]) -> str:
    return str(body.get("model") or body.get("name") or "")


def _has(body: Any, path: str) -> bool:
    """Whether the request has this parameter: `temperature`, `reasoning.summary`."""
    for name in path.split("."):
        if not isinstance(body, dict) or name not in body:
            return False
        body = cast("dict[str, Any]", body)[name]
    return True


def _cannot(body: dict[str, Any], able: list[str]) -> str:
    """What a request wants of one of Ollama's models that it is not able to do."""
    if body.get("tools") and "tools" not in able:
        return "tools"
    return "thinking" if body.get("think") and "thinking" not in able else ""
