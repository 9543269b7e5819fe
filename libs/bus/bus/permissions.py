"""What each NATS user may publish and subscribe to; the server refuses the rest."""

from __future__ import annotations

from typing import TypedDict

from contracts.subjects import TURN_CONSUMER, TURN_REQUESTED


class Permissions(TypedDict):
    publish: list[str]
    subscribe: list[str]


def _service(name: str, publish: list[str], subscribe: list[str]) -> Permissions:
    return {
        "publish": ["$JS.API.INFO", "$JS.API.STREAM.INFO.*", *publish],
        "subscribe": [f"_INBOX.{name}.>", *subscribe],
    }


PERMISSIONS: dict[str, Permissions] = {
    # Makes streams and consumers (`retinue migrate`), and proves that JetStream is ready.
    "admin": {"publish": [">"], "subscribe": [">"]},
    "gateway": _service(
        "gateway",
        publish=[
            TURN_REQUESTED,
            "log.*",
            "ctl.stop.*",
            "fact.>",
            "$JS.API.CONSUMER.CREATE.LOG.>",
            "$JS.API.CONSUMER.DELETE.LOG.>",
            "$JS.API.CONSUMER.INFO.LOG.>",
            "$JS.API.CONSUMER.MSG.NEXT.LOG.>",
            "$JS.API.DIRECT.GET.LOG",
            "$JS.API.DIRECT.GET.LOG.>",
            "$JS.FC.>",
        ],
        subscribe=["log.*", "fact.>"],
    ),
    "turn_runner": _service(
        "turn_runner",
        publish=[
            TURN_REQUESTED,
            "log.*",
            "ctl.stop.*",
            "fact.>",
            f"$JS.API.CONSUMER.MSG.NEXT.TURN.{TURN_CONSUMER}",
            f"$JS.API.CONSUMER.INFO.TURN.{TURN_CONSUMER}",
            f"$JS.ACK.TURN.{TURN_CONSUMER}.>",
        ],
        subscribe=["ctl.stop.*"],
    ),
}
