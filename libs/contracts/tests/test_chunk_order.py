"""The ordering rules, each with a sequence that keeps it and one that breaks it."""

import pytest

from contracts import chunks as c
from contracts.chunk_order import Order

BEGIN = [c.start("m"), c.start_step()]
CALL = c.tool_input_available("c", "t", {}, ours=True)
DONE = c.tool_output_available("c", 1, ours=True)


def order(sequence: list[c.Chunk]) -> Order:
    checked = Order()
    for chunk in sequence:
        checked.add(chunk)
    return checked


GOOD = {
    "plain": [*BEGIN, c.text_start("a"), c.text_delta("a", "x"), c.text_end("a"), c.finish_step(), c.finish("stop")],
    "a name used again": [*BEGIN, c.text_start("a"), c.text_end("a"), c.text_start("a"), c.text_end("a")],
    "text beside reasoning": [*BEGIN, c.text_start("a"), c.reasoning_start("a"), c.text_end("a"), c.reasoning_end("a")],
    "a late result": [*BEGIN, CALL, c.finish_step(), DONE, c.start_step()],
    "a result given again": [*BEGIN, CALL, DONE, DONE],
    "a call cut off": [*BEGIN, c.tool_input_start("c", "t", ours=True), c.tool_output_error("c", "cut", ours=True)],
    "stopped in a step": [*BEGIN, c.text_start("a"), c.text_end("a"), c.abort(), c.finish("other")],
    "an error needs no closing": [*BEGIN, c.text_start("a"), c.error("gone")],
    "start of a new epoch": [c.start("m"), c.start("m"), c.start_step()],
    "approved": [*BEGIN, CALL, c.tool_approval_request("c", "a"), c.finish_step(), DONE],
}
BAD = {
    "no start": ([c.start_step()], "before start"),
    "another message": ([c.start("m"), c.start("n")], "another message"),
    "outside a step": ([c.start("m"), c.text_start("a")], "outside of a step"),
    "step in step": ([*BEGIN, c.start_step()], "inside a step"),
    "no step to finish": ([c.start("m"), c.finish_step()], "outside of a step"),
    "finish in a step": ([*BEGIN, c.finish()], "inside a step"),
    "after the finish": ([c.start("m"), c.finish(), c.finish()], "after finish"),
    "after an abort": ([c.start("m"), c.abort(), c.start_step()], "after abort"),
    "delta without start": ([*BEGIN, c.text_delta("a", "x")], "not open"),
    "open twice": ([*BEGIN, c.text_start("a"), c.text_start("a")], "already open"),
    "open at the step's end": ([*BEGIN, c.reasoning_start("a"), c.finish_step()], "while open"),
    "open at the abort": ([*BEGIN, c.text_start("a"), c.abort()], "while open"),
    "result without call": ([*BEGIN, DONE], "no call c"),
    "result of half an input": ([*BEGIN, c.tool_input_start("c", "t", ours=True), DONE], "not whole"),
    "input after the step": (
        [*BEGIN, c.tool_input_start("c", "t", ours=True), c.finish_step(), c.tool_input_delta("c", "{")],
        "not streaming",
    ),
    "dynamic changes": ([*BEGIN, c.tool_input_start("c", "t", ours=True, dynamic=True), CALL], "was begun as"),
    "executor changes": ([*BEGIN, CALL, c.tool_output_available("c", 1, ours=False)], "differs"),
}


@pytest.mark.parametrize("sequence", GOOD.values(), ids=GOOD.keys())
def test_sequences_that_keep_the_rules(sequence: list[c.Chunk]):
    assert order(sequence).finished is (sequence[-1]["type"] == "finish")


@pytest.mark.parametrize(("sequence", "why"), BAD.values(), ids=BAD.keys())
def test_sequences_that_break_them(sequence: list[c.Chunk], why: str):
    order(sequence[:-1])
    with pytest.raises(c.ChunkError, match=why):
        order(sequence)


def test_finished_is_told():
    assert order(GOOD["plain"]).finished
    assert not order(GOOD["plain"][:-1]).finished
