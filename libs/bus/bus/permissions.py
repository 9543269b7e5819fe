"""What each NATS user may publish and subscribe to; the server refuses the rest.

A contract test reads from the code what each service says and hears, and holds this page to it: no less, no more.
"""

from __future__ import annotations

from typing import TypedDict

from contracts.subjects import (
    CONSUMERS,
    RPC_REPLIES,
    SETTINGS_CHANGED,
    TURN_CONSUMER,
    TURN_REQUESTED,
    again_subject,
)


class Permissions(TypedDict):
    publish: list[str]
    subscribe: list[str]


AGAIN = [again_subject(consumer) for consumer in CONSUMERS]
"""Whoever sweeps the outbox publishes what is sent again, whoever it is for."""


def _service(name: str, publish: list[str], subscribe: list[str]) -> Permissions:
    return {
        "publish": ["$JS.API.STREAM.INFO.*", *publish],
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
            "hint.*",
            "fact.>",
            "rpc.turn_runner.*",
            *AGAIN,
            "$JS.API.CONSUMER.CREATE.LOG.*.log.*",
            "$JS.API.CONSUMER.DELETE.LOG.*",
            "$JS.API.CONSUMER.MSG.NEXT.LOG.*",
        ],
        subscribe=["log.*", "hint.*", "fact.*.turn.completed.v1", RPC_REPLIES, SETTINGS_CHANGED],
    ),
    "turn_runner": _service(
        "turn_runner",
        publish=[
            TURN_REQUESTED,
            "log.*",
            "hint.*",
            "fact.>",
            RPC_REPLIES,
            *AGAIN,
            f"$JS.API.CONSUMER.MSG.NEXT.TURN.{TURN_CONSUMER}",
            f"$JS.API.CONSUMER.INFO.TURN.{TURN_CONSUMER}",
            f"$JS.ACK.TURN.{TURN_CONSUMER}.>",
            "$JS.API.DIRECT.GET.LOG",
        ],
        subscribe=["ctl.stop.*", "rpc.turn_runner.*", SETTINGS_CHANGED],
    ),
}
