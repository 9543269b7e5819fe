"""Errors: a refusal carries what the asker may know, in one shape."""

from chassis.errors import Busy, Refused


def test_a_refusal_is_one_shape():
    refused = Refused(409, "thread_busy", "A turn is running.", turn_id="t1")
    assert refused.body() == {"error": "thread_busy", "message": "A turn is running.", "turn_id": "t1"}
    assert (refused.status, str(refused), refused.headers) == (409, "A turn is running.", {})


def test_busy_says_when_to_come_back():
    busy = Busy("full", retry_after=3, status=429)
    assert (busy.status, busy.headers, busy.body()["retry_after"]) == (429, {"Retry-After": "3"}, 3)
