"""How long a failed event waits, and what of an exception is kept."""

import pytest
from pydantic import BaseModel, ValidationError

from chassis.consumer import BackOff
from chassis.parking import LONGEST_REASON, NeverAnswered, reason_of


def test_the_pause_doubles_up_to_the_longest():
    back_off = BackOff(first=1, longest=60)
    assert [back_off.after(n) for n in (1, 2, 3, 7, 8, 5000)] == [1, 2, 4, 60, 60, 60]


class Thing(BaseModel):
    number: int
    name: str


def test_a_reason_says_which_field_was_wrong_and_not_what_it_held():
    with pytest.raises(ValidationError) as wrong:
        Thing.model_validate_json('{"number": "my secret words"}')
    told = reason_of(wrong.value)
    assert "number: Input should be a valid integer" in told
    assert "name: Field required" in told
    assert "secret" not in told


class DatabaseError(Exception):
    """As SQLAlchemy's: in its words the statement with every parameter, in `orig` the driver's own."""

    def __init__(self):
        super().__init__("relation missing [SQL: select $1] [parameters: ('a private text',)]")
        self.orig = ValueError("relation missing")


def test_a_reason_quotes_no_parameters_and_no_secrets_and_has_an_end():
    assert reason_of(DatabaseError()) == "relation missing"
    assert reason_of(RuntimeError("to postgresql://ada:hunter2hunter2@db/x")) == "to postgresql://ada:********@db/x"
    assert len(reason_of(RuntimeError("x" * 9000))) == LONGEST_REASON
    assert reason_of(NeverAnswered(4)) == "3 deliveries ended without an answer"
