"""What the φ of a relation's tuples is made of, and its copy into an attribute (001 §4.1's ρ_{a/φ})."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from astralq.algebra.base import Kind, Operator, Unary
from astralq.algebra.constants import Constants
from astralq.algebra.explode import Explode
from astralq.algebra.ordering import Limit, OrderBy
from astralq.algebra.relational import (
    Distinct,
    Divide,
    GroupBy,
    Join,
    JoinKind,
    Product,
    SetKind,
    SetOperation,
    ValueSetOperation,
)
from astralq.algebra.sources import RelationSource
from astralq.algebra.stream_ops import Composite
from astralq.algebra.windows import Window
from astralq.errors import PlanError
from astralq.schema import STRING, Attribute, Schema

PhiForm = tuple[object, ...]
"""What a φ is made of, in the order in which it is compared."""


def phi_form(op: Operator) -> PhiForm:
    """What the φ of an operator's tuples is made of.

    >>> from astralq import relation, rows, stream
    >>> r, s = relation("R", "a INT"), stream("S", "b INT")
    >>> phi_form(r.product(s[rows(2)].where("b = 1")).operator)
    (('row of', 'R'), 'position')
    """
    if op.kind is not Kind.RELATION:
        return ("position",) if op.kind is Kind.STREAM else ("window",)
    match op:
        case RelationSource():
            return (("row of", op.name),)
        case Constants():
            return (("row of", op.label),)
        case Window():
            return ("position",)
        case GroupBy():
            return ("key", *(e.type for _, e in op.keys))
        case Distinct() | ValueSetOperation(all=False) | Divide():
            return ("values", *(a.type for a in op.schema))
        case Composite():
            return phi_form(op.definition)
        case OrderBy():
            ordered = (("order", k.expr.type, k.descending, k.nulls_first) for k in op.keys)
            return (*ordered, *phi_form(op.child))
        case Explode():
            return (*phi_form(op.child), ("outer", "place") if op.outer else "place")
        case Product() | Join(how=JoinKind.INNER):
            return (*phi_form(op.left), *phi_form(op.right))
        case Join() if not op.keeps_left and op.how is not JoinKind.SINGLE:
            return (op.how.value, phi_form(op.left), phi_form(op.right))
        case SetOperation(how=SetKind.UNION, in_order=True):
            return (*phi_form(op.left), "side")
        case SetOperation(how=SetKind.UNION):
            return (("tag", phi_form(op.left), phi_form(op.right)),)
    return phi_form(op.children[0])


def is_in_positions(form: PhiForm) -> bool:
    """Whether a φ is made of positions of streams, of the sides of unions, and of the places of elements."""
    return all(
        all(isinstance(side, tuple) and is_in_positions(side) for side in part[1:])
        if isinstance(part, tuple) and part[0] == "tag"
        else part in ("position", "side", "place")
        for part in form
    )


def ordered_or_chosen(op: Operator) -> Operator | None:
    """The ORDER BY or LIMIT that an operator's φ comes from, if there is one: where φ itself is looked at, both are
    refused.

    >>> from astralq import relation
    >>> r = relation("R", "a INT, b INT").order_by("b")
    >>> ordered_or_chosen(r.where("a = 1").operator).label, ordered_or_chosen(r.distinct().operator)
    ('ORDER BY b', None)
    """
    match op:
        case OrderBy() | Limit():
            return op
        case Composite():
            return op if op.kind is Kind.RELATION and ordered_or_chosen(op.definition) is not None else None
        case _ if op.kind is not Kind.RELATION:
            return None
        case RelationSource() | Window() | GroupBy() | Distinct() | ValueSetOperation(all=False) | Divide():
            return None
        case Join() if op.keeps_left:
            return ordered_or_chosen(op.left)
        case ValueSetOperation():
            return ordered_or_chosen(op.left)
    return next((found for c in op.children if (found := ordered_or_chosen(c)) is not None), None)


@dataclass(frozen=True, repr=False)
class CopyPhi(Unary):
    """ρ_{name/φ} of a relation: φ as a text, the numbers of its path with / between them; φ itself stays (001 §4.1)."""

    name: str

    @cached_property
    def schema(self) -> Schema:
        return Schema((*self.child.schema.attributes, Attribute(self.name, STRING)), self.child.schema.location)

    def check(self) -> None:
        if self.child.kind is not Kind.RELATION:
            raise PlanError("φ of a stream's tuple is its position", hint="use _n")
        if (chosen := ordered_or_chosen(self.child)) is not None:
            raise PlanError(
                f"φ is looked at above {chosen.label}, which decides what it is",
                hint="take _phi below it, in a subquery",
            )
        if not is_in_positions(phi_form(self.child)):
            raise PlanError(
                "φ of these tuples is made of values: keys of groups, or rows of a stored relation",
                hint="select those attributes instead",
            )

    @property
    def label(self) -> str:
        return f"COPY φ AS {self.name}"
