"""What a service that hears events adds to its settings."""

from __future__ import annotations

from pydantic import model_validator

from chassis.settings import ServiceSettings, setting
from contracts.subjects import STREAMS

_LONGEST_KEPT = max(stream.max_age for stream in STREAMS)


class ConsumerSettings(ServiceSettings):
    """How a consumer tries again, and how it looks for what it was never given."""

    retry_first: float = setting(
        1.0, "pause before a failed event is delivered again; doubles each time", unit="s", gt=0
    )
    retry_longest: float = setting(300.0, "longest pause between two deliveries of an event", unit="s", gt=0)

    lost_facts_every: float = setting(86400.0, "how often facts without an inbox row are looked for", unit="s", gt=0)
    lost_facts_age: float = setting(
        3600.0, "how long after it was sent a fact without an inbox row counts as lost", unit="s", gt=0
    )
    inbox_keep: float = setting(
        14 * 86400.0, "how long an inbox row is kept; longer than anything brings its event back", unit="s", gt=0
    )

    @model_validator(mode="after")
    def _inbox_outlives_events(self) -> ConsumerSettings:
        least = max(_LONGEST_KEPT, self.facts_keep) + self.lost_facts_every
        if self.inbox_keep < least:
            raise ValueError(f"RETINUE_INBOX_KEEP must be at least {least:g} s: events come back until then")
        if self.lost_facts_age + self.lost_facts_every > self.facts_keep:
            raise ValueError("RETINUE_FACTS_KEEP must exceed RETINUE_LOST_FACTS_AGE and RETINUE_LOST_FACTS_EVERY")
        return self
