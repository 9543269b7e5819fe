"""The one guarded client for addresses that people or models give: public addresses only, checked and bounded.

    client = Guarded(Policy(allowed=(HostPort.read("wiki.lan:8080"),), own=(HostPort("retinue.example.org"),)))
    page = await client.fetch("https://example.org/", takes=lambda media_type: media_type == "text/html")
    ...
    await client.aclose()

`Forbidden`: nothing was sent. `Failed`: something was, and came to nothing. A test forbids other clients than this one
(tests/contract/test_raw_clients.py).
"""

from outbound.answer import Answer, Excess, Fetched
from outbound.client import Guarded, Limits
from outbound.errors import Failed, FailureCode, Forbidden, OutboundError
from outbound.names import Names, SystemNames
from outbound.policy import HostPort, Policy
from outbound.ranges import is_public

__all__ = [
    "Answer",
    "Excess",
    "Failed",
    "FailureCode",
    "Fetched",
    "Forbidden",
    "Guarded",
    "HostPort",
    "Limits",
    "Names",
    "OutboundError",
    "Policy",
    "SystemNames",
    "is_public",
]
