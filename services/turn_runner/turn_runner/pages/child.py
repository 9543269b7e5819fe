"""The process that reads one page: `python -I -m turn_runner.pages.child`, a page in, its text out, then it ends.

In: a line of JSON (`url`, `charset`, `selector`, `most`), then the body. Out: a JSON object of `Page`. It opens no
file and no connection, and its limits are its own first act. It imports no more than it needs: it starts once a page.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict

try:
    import resource
except ImportError:  # not a Unix: the reader's deadline is all there is
    resource = None

from turn_runner.pages.charsets import decoded
from turn_runner.pages.html_text import page_of

CPU_SECONDS = 5
MEMORY_BYTES = 1 << 30


def main() -> None:
    _limit()
    asked, _, body = sys.stdin.buffer.read().partition(b"\n")
    wish = json.loads(asked)
    html = decoded(body, wish["charset"], is_html=True)
    page = page_of(html, url=wish["url"], selector=wish["selector"], most=wish["most"])
    sys.stdout.buffer.write(json.dumps(asdict(page)).encode())


def _limit() -> None:
    if resource is not None:
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


if __name__ == "__main__":
    main()
