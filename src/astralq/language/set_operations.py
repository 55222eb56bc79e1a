"""UNION, INTERSECT, EXCEPT and DIVIDE BY of two queries: by value, by identity, in order."""

from __future__ import annotations

from sqlglot import exp

from astralq.algebra.base import Kind, Operator
from astralq.algebra.relational import Divide, SetKind, SetOperation, ValueSetOperation
from astralq.algebra.streamers import IStream
from astralq.algebra.windows import Window, last_batch
from astralq.errors import PlanError
from astralq.language.nodes import same_types
from astralq.language.syntax import DivideBy


def set_operation(node: exp.SetOperation, left: Operator, right: Operator) -> Operator:
    """What a set operation makes of the two queries on its sides."""
    if isinstance(node, DivideBy):
        return Divide(left, right)
    how = {exp.Union: SetKind.UNION, exp.Except: SetKind.EXCEPT, exp.Intersect: SetKind.INTERSECT}[type(node)]
    every = node.args.get("distinct") is False
    left, right = same_types(left, right, how)
    in_order, identity = bool(node.args.get("in_order")), bool(node.args.get("identity"))
    if in_order and not (how is SetKind.UNION and every and left.kind is Kind.RELATION):
        raise PlanError("IN ORDER belongs to UNION ALL of two relations", hint="write … UNION ALL IN ORDER …")
    if identity and (how is SetKind.UNION or every):
        raise PlanError("BY IDENTITY belongs to EXCEPT and INTERSECT", hint="write … EXCEPT … BY IDENTITY")
    if in_order or identity:
        return SetOperation(left, right, how, in_order)
    if left.kind is Kind.STREAM and right.kind is Kind.STREAM and how is SetKind.UNION and every:
        both = [Window(side, last_batch()) for side in (left, right)]
        return IStream(SetOperation(both[0], both[1], SetKind.UNION))
    if how is SetKind.UNION and every:
        return SetOperation(left, right, SetKind.UNION)
    return ValueSetOperation(left, right, how, every)
