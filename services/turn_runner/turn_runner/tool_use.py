"""A step's tool calls: run side by side, their results shown and committed one after the other.

A tool that is not idempotent starts only after that was committed; a stop that commits first wins.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from chassis import faults
from store import Session, turns
from store.repositories import blobs
from store.turns import TurnLost
from store.turns.endings import call_result
from turn_runner import execution
from turn_runner.execution import Prepared, Result
from turn_runner.held import Halted, HeldTurn
from turn_runner.narration import AskedCall
from turn_runner.resumption import LeftCall
from turn_runner.tools import Tool, ToolContext


class ToolUse:
    def __init__(self, held: HeldTurn) -> None:
        self.user_settings: Mapping[str, Any] = {}
        self._held = held
        self._one_result_at_a_time = asyncio.Lock()

    async def run(self, calls: Sequence[AskedCall], offer: list[Tool[Any]]) -> list[Result]:
        """The results, in the order of the calls. Raises `Halted`, `HandOver` or `TurnLost` once every call has come
        to rest.
        """
        names = {tool.name for tool in offer}
        outcomes = await asyncio.gather(*(self._run_one(call, names) for call in calls), return_exceptions=True)
        results: list[Result] = []
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                raise outcome
            results.append(outcome)
        return results

    async def _run_one(self, call: AskedCall, names: set[str]) -> Result:
        prepared = execution.prepare(call, names, most_bytes=self._held.work.settings.tool_input_bytes)
        if isinstance(call, LeftCall) and call.fate != "run":
            result = call.result(was_malformed=isinstance(prepared, Result))
            if call.fate == "known":
                return result
        else:
            result = prepared if isinstance(prepared, Result) else await self._start(call, prepared)
        async with self._one_result_at_a_time:
            await self._finish(call, result)
        return result

    async def _start(self, call: AskedCall, prepared: Prepared) -> Result:
        held = self._held
        if held.is_halted:
            raise Halted
        held.commit_point()  # one that has not begun can begin elsewhere
        if not prepared.tool.is_idempotent:
            if not await held.commit(lambda session: turns.start_call(session, held.claim, call.id)):  # (b)
                held.halt("user")
                raise Halted
            held.open_calls[call.id] = "started"
        return await held.interruptible(self._execute(call, prepared))

    async def _execute(self, call: AskedCall, prepared: Prepared) -> Result:
        """One more look at the clock, with nothing in between: a runner that slept starts no tool."""
        held = self._held
        await held.work.lease.good()
        if held.is_lost:
            raise TurnLost
        faults.reached("before_tool")
        context = ToolContext(
            held.claim.user_id, held.turn_id, call.id, held.work.settings, held.work.web, self.user_settings
        )
        return await execution.run(prepared, held.work.outputs, context)

    async def _finish(self, call: AskedCall, result: Result) -> None:
        """(c) The result is in the log before it is committed, and nothing else is between the two."""
        held = self._held
        await held.log.write([call_result(call.id, result.output, result.error_text)])
        commit = await held.log.settle()
        faults.reached("after_tool")

        async def finish(session: Session) -> None:
            await turns.finish_call(
                session,
                held.claim,
                commit,
                steps=held.steps,
                call_id=call.id,
                output=result.output,
                error_text=result.error_text,
            )
            if result.blob is not None:
                await blobs.refer(
                    session,
                    result.blob,
                    user_id=held.claim.user_id,
                    thread_id=held.claim.thread_id,
                    turn_id=held.turn_id,
                    call_id=call.id,
                )

        await held.commit(finish)
        del held.open_calls[call.id]
