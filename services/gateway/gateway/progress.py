"""Progress of something long, as server-sent events: what came already, then what comes, until the last."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator

from starlette.responses import StreamingResponse

from chassis.errors import Refused
from contracts.rpc import PullProgress


class ProgressStream(StreamingResponse):
    """For few and slow events; a stream of a turn takes another way (`gateway.streams`)."""

    def __init__(self, first: PullProgress, rest: AsyncGenerator[PullProgress]) -> None:
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        super().__init__(_events(first, rest), media_type="text/event-stream", headers=headers)


async def _events(first: PullProgress, rest: AsyncGenerator[PullProgress]) -> AsyncIterator[bytes]:
    try:
        yield _event(first)
        async for each in rest:
            yield _event(each)
    except Refused as broken:  # the answer has begun: its end can only be said in it
        yield _event(PullProgress(status="error", error=broken.message))
    finally:
        await rest.aclose()


def _event(progress: PullProgress) -> bytes:
    return f"data: {progress.model_dump_json()}\n\n".encode()
