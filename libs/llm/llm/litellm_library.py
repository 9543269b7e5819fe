"""litellm, imported on the first call that needs it: in a thread, without its network, its logs and its retries.

Nothing else in Retinue imports it, and this module only does so when asked: the import costs seconds and 190 MB.
"""

import asyncio
import logging
import os
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
    # The modules of a streamed call are loaded by the first one, which would hold up the loop.
    import_module("litellm.llms.custom_httpx.http_handler")
    import_module("llm.litellm_transport")
    return litellm
