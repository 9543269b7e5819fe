"""Directives and scripts into replies."""

import itertools

import pytest

from cli.dev.model.directive import directives
from cli.dev.model.reply import PlayedCall, Reply, ScriptError
from cli.dev.model.script import Asked, Director, Script, asked_from, script_from
from cli.dev.model.words import words


def asked(user: str = "hi", model: str = "m", step: int = 0, *, offered: bool = True) -> Asked:
    return Asked(model, user, step, f"hash of {user}", offered)


@pytest.mark.parametrize(
    ("message", "replies"),
    [
        ("nothing", []),
        ("[[tokens=200 rate=20 reasoning=1]]", [Reply(tokens=200, rate=20, reasoning=1)]),
        ("a [[tokens=1]] b [[ tokens=2 ]] c", [Reply(tokens=1), Reply(tokens=2)]),
        ("[[html]]", [Reply(html=True)]),
        ("[[done=0 crlf=1]]", [Reply(done=False, crlf=True)]),
        ('[[text="a ]] \\"b\\""]]', [Reply(text='a ]] "b"')]),
        ("[[text=one]]", [Reply(text="one")]),
        ("[[status=429 retry_after=0.5 times=2]]", [Reply(status=429, retry_after=0.5, times=2)]),
        ("[[reset=0]]", [Reply(reset=0)]),
        ("[[tool=now]]", [Reply(tools=(PlayedCall("now"),))]),
        ('[[tool=f:{"a": [[1]]}]]', [Reply(tools=(PlayedCall("f", '{"a": [[1]]}'),))]),
        ('[[tool=f:{"a":1} tool=g:"{bad"]]', [Reply(tools=(PlayedCall("f", '{"a": 1}'), PlayedCall("g", "{bad")))]),
        ("[[]]", [Reply()]),
    ],
)
def test_directives(message: str, replies: list[Reply]):
    assert directives(message) == replies


@pytest.mark.parametrize(
    "message",
    [
        "[[tokens=many]]",
        "[[tokens=-1]]",
        "[[tokens=1.5]]",
        "[[nope=1]]",
        "[[tokens=1",
        "[[tool=]]",
        "[[tool=f:{bad]]",
        "[[usage=odd]]",
        "[[!]]",
        "[[html=5 status=x]]",
    ],
)
def test_directives_that_make_no_sense(message: str):
    with pytest.raises(ScriptError):
        directives(message)


@pytest.mark.parametrize(
    "source",
    [
        [],
        {"rule": []},
        {"rules": [{}]},
        {"rules": [{"replies": []}]},
        {"rules": [{"replies": [{"tokenz": 1}]}]},
        {"rules": [{"replies": [{"tokens": "x"}]}]},
        {"rules": [{"replies": [{"tools": ["f"]}]}]},
        {"rules": [{"user": "(", "replies": [{}]}]},
        {"rules": [{"users": "x", "replies": [{}]}]},
    ],
)
def test_scripts_that_make_no_sense(source: object):
    with pytest.raises(ScriptError):
        script_from(source)


def test_rules_by_model_and_message_and_step():
    script = script_from(
        {
            "rules": [
                {"model": "slow*", "replies": [{"rate": 1}]},
                {"user": "wea?ther", "replies": [{"tools": [{"name": "f", "arguments": {}}]}, {"text": "Rain."}]},
            ]
        }
    )
    director = Director(script)
    assert director.reply(asked(model="slow-1")).rate == 1
    assert director.reply(asked("the weather")).tools[0].name == "f"
    assert director.reply(asked("the weather", step=1)).text == "Rain."
    assert director.reply(asked("the weather", step=7)).text == "Rain."
    assert director.reply(asked("else")).text == "You said: else"
    assert director.reply(asked("[[tokens=3]]", "slow")).tokens == 3
    assert director.reply(asked("x", "tokens=4,rate=2")) == Reply(tokens=4, rate=2)


def test_a_loop_of_calls_ends_when_no_tools_are_offered():
    director = Director(Script())
    loop = "[[tool=f again]]"
    assert director.reply(asked(loop, step=40)).tools
    assert not director.reply(asked(loop, step=40, offered=False)).tools
    assert not director.reply(asked("[[tool=f]]", step=1)).tools


def test_counted_faults_pass_for_each_conversation():
    director = Director(Script())
    for words_ in ("a [[status=500 times=2 tokens=3]]", "b [[status=500 times=2 tokens=3]]"):
        replies = [director.reply(asked(words_)) for _ in range(3)]
        assert [reply.status for reply in replies] == [500, 500, 0]
        assert replies[-1].tokens == 3
    assert [director.reply(asked("c [[status=500]]")).status for _ in range(3)] == [500] * 3


def test_steps_are_counted_since_the_last_user_message():
    called = {"role": "assistant", "tool_calls": [{}]}
    body = {
        "model": "m",
        "messages": [
            {"role": "user", "content": "one"},
            called,
            {"role": "tool", "content": "x"},
            {"role": "user", "content": [{"type": "text", "text": "two"}]},
            called,
            {"role": "tool", "content": "y"},
        ],
    }
    found = asked_from(body)
    assert (found.user, found.step, found.offered) == ("two", 1, False)


def test_words_vary_and_repeat_themselves_for_the_same_seed():
    said = list(words(2000, 7))
    assert said == list(words(2000, 7))
    assert said != list(words(2000, 8))
    assert all(one != two for one, two in itertools.pairwise(said))
