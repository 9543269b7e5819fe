"""Arithmetic by a real expression library: no eval, bounded numbers."""

from __future__ import annotations

import ast
import math
from typing import Any

import simpleeval
from pydantic import Field

from turn_runner.tools.tool import Input, Tool, ToolContext, ToolFailed

simpleeval.MAX_POWER = 1000  # both base and exponent: enough for a person, and never a second of CPU

_FARTHEST_ROUNDING = 400
"""Digits: beyond the largest float, and `round` of an integer raises ten to that power before it looks."""


def _round(number: float, digits: int | None = None) -> float:
    if digits is not None and abs(digits) > _FARTHEST_ROUNDING:
        raise ValueError(f"round takes at most {_FARTHEST_ROUNDING} digits")
    return round(number, digits)


_FUNCTIONS = {
    name: getattr(math, name)
    for name in ("sqrt", "log", "log2", "log10", "exp", "sin", "cos", "tan", "asin", "acos", "atan", "floor", "ceil")
} | {"abs": abs, "round": _round, "min": min, "max": max}
_NAMES = {"pi": math.pi, "e": math.e, "tau": math.tau}
_SHOWN_DIGITS = 1000
_SHOWN_CHARACTERS = 300

# Numbers only: strings and attributes (`'x'.ljust(10**9)`) would cost memory and time that nobody bounds.
_ARITHMETIC = (
    ast.Expression, ast.Constant, ast.Name, ast.Load, ast.Call, ast.UnaryOp, ast.BinOp, ast.BoolOp, ast.Compare,
    ast.IfExp, ast.operator, ast.unaryop, ast.boolop, ast.cmpop,
)  # fmt: skip


class CalculatorInput(Input):
    expression: str = Field(
        min_length=1, max_length=500, description="for example (3 + 4) * 2 ** 10 / sqrt(2), with ** for powers"
    )


async def calculate(wanted: CalculatorInput, _: ToolContext) -> dict[str, Any]:
    evaluator = simpleeval.SimpleEval(functions=_FUNCTIONS, names=_NAMES)
    try:
        result = evaluator.eval(wanted.expression, _parsed(wanted.expression))
    except ZeroDivisionError as wrong:
        raise ToolFailed("Division by zero.") from wrong
    except (simpleeval.InvalidExpression, ArithmeticError, ValueError, TypeError, SyntaxError) as wrong:
        raise ToolFailed(f"Cannot evaluate that: {str(wrong)[:_SHOWN_CHARACTERS]}") from wrong
    except (MemoryError, RecursionError, AttributeError, KeyError, IndexError) as wrong:
        raise ToolFailed("Cannot evaluate that: the expression is too large or not arithmetic.") from wrong
    return {"expression": wanted.expression, "result": _plain(result)}


def _parsed(expression: str) -> ast.expr:
    """The expression's tree, if it is one expression of numbers; raises SyntaxError or ValueError if not."""
    tree = ast.parse(expression.strip().replace("^", "**"), mode="eval")
    for node in ast.walk(tree):
        if not isinstance(node, _ARITHMETIC):
            raise ValueError(f"{type(node).__name__} is not arithmetic")
        if isinstance(node, ast.Constant) and not isinstance(node.value, int | float):
            raise ValueError(f"{type(node.value).__name__} is not a number")
    return tree.body


def _plain(result: Any) -> int | float | bool | str:
    """A number that every JSON reader takes as it is: exact where it can be, text where it cannot."""
    if isinstance(result, bool):
        return result
    if isinstance(result, int):
        if abs(result) <= 2**53:
            return result
        if abs(result) < 10**_SHOWN_DIGITS:
            return str(result)
        raise ToolFailed(f"The result has more than {_SHOWN_DIGITS} digits.")
    if isinstance(result, float) and math.isfinite(result):
        return result
    raise ToolFailed("The result is not a finite number.")


TOOL = Tool(
    name="calculator",
    title="Calculator",
    summary="Exact arithmetic.",
    description=(
        "Evaluates one arithmetic expression exactly: + - * / // % **, comparisons, sqrt, log, exp, trigonometry, "
        "round, min, max, pi, e. Use it for any sum that is not trivial. Not for algebra, units or dates."
    ),
    input=CalculatorInput,
    run=calculate,
)
