"""Takes away what a newer epoch of a turn has overruled: for readers that had seen more than counts.

Every batch tells the **cut** of its epoch: the position (epoch, number) of the turn's last commit when that epoch
began. What an older epoch began beyond the cut never happened. A reader remembers, for each part, the batch in which
it began, and calls this once for each new epoch that it sees, in order.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from contracts.batches import BatchId


def superseded(parts: Sequence[Mapping[str, Any]], began: Sequence[BatchId], epoch: int, cut: BatchId) -> list[int]:
    """Ordinals of the parts to drop, ascending (`Reducer.drop` takes them). `began[i]` is where `parts[i]` began.

    A part counts if it began in this epoch, or at or before the cut; a call that began before the cut stays, whatever
    results it got since (it gets them again). A `step-start` goes when the parts behind it were all superseded, and a
    `data-superseded` part always goes. Skipping an epoch's cut leaves parts in that this cannot know to be wrong:
    equal numbers prove nothing, so read the log again when an epoch is missing.

    Only whole parts come and go. So writers keep in-place changes behind a commit: a data part that is replaced, and
    message metadata, are sent again by the next holder, or not changed between two commits.
    """
    gone = [
        part["type"] == "data-superseded" or (at.epoch < epoch and not _counts(at, cut))
        for part, at in zip(parts, began, strict=True)
    ]
    for first, last in _steps(parts):
        inside = gone[first + 1 : last]
        if inside and all(inside):
            gone[first] = True
    return [ordinal for ordinal, is_gone in enumerate(gone) if is_gone]


def name_of(part: Mapping[str, Any]) -> str | None:
    """What `data-superseded` calls this part: its call's or source's id, or the one that text and reasoning carry;
    else `None`.
    """
    for own in ("toolCallId", "sourceId"):
        if own in part:
            return part[own]
    name = part.get("providerMetadata", {}).get("retinue", {}).get("part")
    return name if isinstance(name, str) else None


def _counts(at: BatchId, cut: BatchId) -> bool:
    return at.epoch <= cut.epoch and at.number <= cut.number


def _steps(parts: Sequence[Mapping[str, Any]]) -> list[tuple[int, int]]:
    """Each step as (ordinal of its start, ordinal after its last part)."""
    starts = [ordinal for ordinal, part in enumerate(parts) if part["type"] == "step-start"]
    return list(zip(starts, [*starts[1:], len(parts)], strict=False))
