"""The computed attributes of a source's rows, by the model's evaluator."""

from __future__ import annotations

from collections.abc import Sequence

from astralq.algebra.computed import FILE, MOMENT
from astralq.algebra.sources import RelationSource, StreamSource
from astralq.errors import DataError, EvaluationError
from astralq.expr.evaluate import evaluator
from astralq.expr.nodes import Expr
from astralq.schema import Schema, Value, Values


def told(name: str, expr: Expr) -> str:
    """How errors name a computed attribute."""
    return f"TIMESTAMP BY {expr}" if name == MOMENT else f"{name} AS ({expr})"


class Completion:
    """Turns rows as they are stored into rows with all attributes."""

    def __init__(self, source: StreamSource | RelationSource) -> None:
        self.width = len(source.stored)
        stored = Schema((*source.stored.attributes, FILE))
        made = {name.lower(): (name, e, evaluator(e, stored)) for name, e in source.computed}
        self._items = [
            (source.stored.index(a.name), None) if a.name in source.stored else (0, made[a.name.lower()])
            for a in source.physical
        ]
        self._needed = bool(made)

    def row(self, stored: Sequence[Value], where: str, file: str | None = None) -> Values:
        """All attributes of a row; an error says where it stands, and which expression fails on it."""
        if not self._needed:
            return tuple(stored)
        given = (*stored, file)
        values: list[Value] = []
        for place, computed in self._items:
            if computed is None:
                values.append(stored[place])
                continue
            name, expr, evaluate = computed
            try:
                values.append(evaluate(given))
            except EvaluationError as e:
                raise DataError(f"{where}: {e.reason}, in {told(name, expr)}", hint=e.hint, attribute=name) from None
        return tuple(values)
