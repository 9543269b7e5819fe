"""Run by path with an interpreter that has litellm, and nothing of ours: `litellm_stream.py URL STREAMS TOKENS RATE`.

Prints one line of JSON: what reading so many streams cost.
"""

# pyright: basic, reportMissingImports=false
import asyncio
import json
import resource
import sys
import time
from importlib.metadata import version


async def read(acompletion, url: str, number: int, tokens: int, rate: float) -> int:
    wish = f"Stream {number} [[stamp tokens={tokens} rate={rate:g}]]"
    messages = [{"role": "user", "content": wish}]
    stream = await acompletion(
        model="openai/scripted", api_base=url, api_key="none", stream=True, messages=messages, max_retries=0
    )
    said = 0
    async for chunk in stream:
        if chunk.choices and chunk.choices[0].delta.content:
            said += 1
    return said


async def measure(acompletion, url: str, streams: int, tokens: int, rate: float) -> tuple[int, float]:
    await read(acompletion, url, 0, 20, 0)  # its first call costs half a second
    begun = time.process_time()
    counts = await asyncio.gather(*(read(acompletion, url, number, tokens, rate) for number in range(streams)))
    return sum(counts), time.process_time() - begun


def main() -> None:
    url, streams, tokens, rate = sys.argv[1:]
    begun = time.monotonic()
    from litellm import acompletion

    imported = time.monotonic() - begun
    said, cpu = asyncio.run(measure(acompletion, url, int(streams), int(tokens), float(rate)))
    found = {
        "tokens": said,
        "cpu_us": cpu / max(1, said) * 1e6,
        "import_s": imported,
        "memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "version": version("litellm"),
    }
    sys.stdout.write("\n" + json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
