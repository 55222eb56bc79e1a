"""The columns of an answer: a stream's and a relation's own, then the attributes, all with different names."""

from __future__ import annotations

from astralq.algebra.base import Kind, Operator
from astralq.algebra.grouping import unique
from astralq.schema import BIGINT, STRING, TIMESTAMP, Attribute, Schema

STAMP = (Attribute("t", TIMESTAMP), Attribute("i", BIGINT))
CHANGE = (Attribute("op", STRING), *STAMP)


def named_apart(first: tuple[Attribute, ...], schema: Schema) -> tuple[Attribute, ...]:
    """Columns with different names: an attribute t behind the answer's own t is t_2."""
    taken = {"_q", *(a.name for a in first)}
    return (*first, *(Attribute(unique(a.name, taken), a.type) for a in schema))


def answer_columns(query: Operator) -> tuple[Attribute, ...]:
    """What the rows of a query's history are made of."""
    return named_apart(CHANGE if query.kind is Kind.RELATION else STAMP, query.schema)
