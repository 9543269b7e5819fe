"""Cursors of the list of threads: made by us, or refused."""

import base64
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.repositories.threads import BadCursor, ThreadInfo, _cursor, _read_cursor

NOW = datetime(2026, 11, 30, 12, 0, 0, 123456, tzinfo=UTC)
THREAD = ThreadInfo(UUID(int=7), UUID(int=8), "web", None, None, NOW, NOW, False, None, None, False, None)


MOMENTS = st.integers(0, 7000 * 365 * 86400).map(lambda seconds: NOW + timedelta(seconds=seconds))


@given(MOMENTS, st.uuids())
def test_a_cursor_is_read_as_it_was_made(touched_at, thread_id):
    made = _cursor(replace(THREAD, touched_at=touched_at, id=thread_id))
    assert _read_cursor(made) == (touched_at, thread_id)


@given(st.one_of(st.text(max_size=60), st.binary(max_size=40).map(lambda raw: base64.urlsafe_b64encode(raw).decode())))
def test_anything_else_is_refused(text):
    try:
        touched_at, thread_id = _read_cursor(text)
    except BadCursor:
        return
    assert _cursor(replace(THREAD, touched_at=touched_at, id=thread_id)) == text.rstrip("=")


def test_another_version_is_refused():
    raw = bytearray(base64.urlsafe_b64decode(_cursor(THREAD) + "=="))
    raw[0] = 2
    with pytest.raises(BadCursor):
        _read_cursor(base64.urlsafe_b64encode(raw).decode())
