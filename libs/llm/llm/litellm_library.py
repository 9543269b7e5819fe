"""litellm, imported on the first call that needs it: in a thread, without its network, its logs and its retries.

Nothing else in Retinue imports it, and this module only does so when asked: the import costs seconds and 190 MB.
"""

import asyncio
import logging
import os
from functools import partial
from importlib import import_module
from typing import Any

SETTINGS = {
    # Lists that it would fetch from the network at import.
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS": "True",
    "LITELLM_OFFLINE_MODE": "true",
    # Or else it reads .env files.
    "LITELLM_MODE": "PRODUCTION",
    # It gives up on an answer of a hundred equal chunks in a row: a table of spaces is one.
    "REPEATED_STREAMING_CHUNK_LIMIT": str(10**9),
}

REHEARSAL = {
    "anthropic/claude-sonnet-4-5": (
        '{"type":"message_start","message":{"id":"1","model":"m","usage":{"input_tokens":1,"output_tokens":1}}}',
        '{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}',
        '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}}',
        '{"type":"content_block_stop","index":0}',
        '{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":1}}',
        '{"type":"message_stop"}',
    ),
    "gemini/gemini-3-flash-preview": (
        '{"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":"STOP"}],'
        '"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":1,"totalTokenCount":2}}',
    ),
}

_loading: asyncio.Task[Any] | None = None


async def library() -> Any:
    """The module `litellm`, ready for use; the first call takes seconds, in which the loop goes on."""
    global _loading
    if _loading is None or _loading.cancelled() or _loading.get_loop() is not asyncio.get_running_loop():
        _loading = asyncio.create_task(asyncio.to_thread(_load))
    return await asyncio.shield(_loading)


def _load() -> Any:
    os.environ.update(SETTINGS)
    litellm: Any = import_module("litellm")
    litellm.suppress_debug_info = True
    litellm.telemetry = False
    litellm.turn_off_message_logging = True
    litellm.disable_streaming_logging = True
    litellm.drop_params = True
    for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
        # Whatever matters is raised to the caller as well; these lines would hold pieces of conversations.
        logger = logging.getLogger(name)
        logger.handlers.clear()
        logger.setLevel(logging.CRITICAL)
    logging.getLogger("httpx").setLevel(logging.WARNING)
    asyncio.run(_rehearse(litellm))
    return litellm


async def _rehearse(litellm: Any) -> None:
    """Play an answer of each wire: the first one loads a hundred modules more, which would hold up the loop."""
    httpx: Any = import_module("httpx")
    import_module("llm.litellm_transport")
    handlers: Any = import_module("litellm.llms.custom_httpx.http_handler")
    for model, events in REHEARSAL.items():
        transport = httpx.MockTransport(partial(_played, httpx, "".join(f"data: {event}\n\n" for event in events)))
        stream = await litellm.acompletion(
            model=model,
            messages=[{"role": "user", "content": "rehearsal"}],
            stream=True,
            stream_options={"include_usage": True},
            api_key="none",
            api_base="http://127.0.0.1",
            client=handlers.AsyncHTTPHandler(transport=transport),
            max_retries=0,
            num_retries=0,
        )
        async for _ in stream:
            pass


def _played(httpx: Any, body: str, _: Any) -> Any:
    return httpx.Response(200, headers={"content-type": "text/event-stream"}, text=body)
