"""Acknowledgements find whoever waits for them, and nobody else; on a bus that loses and refuses."""

from __future__ import annotations

from uuid import uuid4

import pytest
from nats.errors import OutboundBufferLimitError

from bus.publish import AckedPublisher
from tests.kit.lossy_bus import REFUSED, LossyBus


@pytest.fixture
def bus() -> LossyBus:
    return LossyBus()


@pytest.fixture
async def publisher(bus: LossyBus) -> AckedPublisher:
    made = AckedPublisher(bus)  # type: ignore[arg-type]
    await made.start()
    return made


async def test_each_acknowledgement_speaks_for_its_own_message(bus: LossyBus, publisher: AckedPublisher) -> None:
    heard: list[tuple[str, bool]] = []
    for name in "abc":
        await publisher.publish(f"log.{uuid4()}", b"x", lambda ok, name=name: heard.append((name, ok)))
    assert len({sent.reply for sent in bus.sent}) == 3
    a, b, c = bus.sent
    await bus.acknowledge(c, a)
    assert heard == [("c", True), ("a", True)]
    await bus.acknowledge(b, data=REFUSED)
    assert heard[2:] == [("b", False)]


@pytest.mark.parametrize("data", [REFUSED, b"", b"-ERR", b'{"error":{"description":"seq"},"seq":1}'])
async def test_whatever_is_no_acknowledgement_is_a_refusal(
    bus: LossyBus, publisher: AckedPublisher, data: bytes
) -> None:
    heard: list[bool] = []
    await publisher.publish("log.x", b"x", heard.append)
    await bus.acknowledge(bus.sent[0], data=data)
    assert heard == [False]


async def test_an_acknowledgement_comes_once_and_late_ones_are_nobody_s(
    bus: LossyBus, publisher: AckedPublisher
) -> None:
    heard: list[bool] = []
    ticket = await publisher.publish("log.x", b"x", heard.append)
    await bus.acknowledge(bus.sent[0], bus.sent[0])
    assert heard == [True]
    publisher.forget(ticket)  # known no more; harmless
    forgotten = await publisher.publish("log.x", b"x", heard.append)
    publisher.forget(forgotten)
    await bus.acknowledge(bus.sent[1])
    assert heard == [True]


async def test_a_message_that_could_not_be_sent_waits_for_nothing(bus: LossyBus, publisher: AckedPublisher) -> None:
    bus.fails = OutboundBufferLimitError()
    with pytest.raises(OutboundBufferLimitError):
        await publisher.publish("log.x", b"x", lambda ok: pytest.fail("nobody shall hear of it"))
    bus.fails = None
    heard: list[bool] = []
    await publisher.publish("log.x", b"x", heard.append)
    await bus.acknowledge(bus.sent[0])
    assert heard == [True]
