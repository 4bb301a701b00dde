"""Two ways to put times to Z3. Import this module only where a proof is made: it takes a second."""

from enum import StrEnum
from typing import Any

import z3

__all__ = ["Arithmetic", "Bool", "Numbers", "Term", "both", "either", "implies", "negation", "z3"]

Term = Any
"""A Z3 arithmetic expression."""
Bool = Any
"""A Z3 Boolean expression, or a Python bool where it is known beforehand."""


class Numbers(StrEnum):
    """The solver's type of a time."""

    REAL = "real"
    """Dense time: a refutation holds for integers too; a schedule is then looked for among integers."""
    INTEGER = "integer"


class Arithmetic:
    """Variables and constants of one kind of number."""

    def __init__(self, numbers: Numbers) -> None:
        self.numbers = numbers
        self.solver = z3.Solver()

    def variable(self, name: str) -> Term:
        """A number."""
        return z3.Real(name) if self.numbers is Numbers.REAL else z3.Int(name)

    def constant(self, value: int) -> Term:
        """An integer constant."""
        return z3.RealVal(value) if self.numbers is Numbers.REAL else z3.IntVal(value)

    def read(self, model: Any, term: Term) -> int | None:
        """A number's value in a model; None when it is not an integer."""
        value = model.eval(term, model_completion=True)
        if self.numbers is Numbers.REAL:
            return int(value.numerator_as_long()) if value.denominator_as_long() == 1 else None
        return int(value.as_long())


def both(*parts: Bool) -> Bool:
    """Conjunction that folds what is known."""
    if any(part is False for part in parts):
        return False
    unknown = [part for part in parts if part is not True]
    return z3.And(*unknown) if len(unknown) > 1 else unknown[0] if unknown else True


def either(*parts: Bool) -> Bool:
    """Disjunction that folds what is known."""
    if any(part is True for part in parts):
        return True
    unknown = [part for part in parts if part is not False]
    return z3.Or(*unknown) if len(unknown) > 1 else unknown[0] if unknown else False


def negation(part: Bool) -> Bool:
    """Negation that folds what is known."""
    return (not part) if isinstance(part, bool) else z3.Not(part)


def implies(condition: Bool, then: Bool) -> Bool:
    """Implication that folds what is known."""
    return either(negation(condition), then)
