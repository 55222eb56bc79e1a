"""What an expression gives for one tuple: the model's evaluator."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from astralq.callables import to_python
from astralq.errors import EvaluationError, ExpressionError
from astralq.expr.casts import cast_value
from astralq.expr.functions import TABLE, not_in_model
from astralq.expr.lambdas import HIGHER, applied
from astralq.expr.nodes import Call, Case, Cast, Column, Expr, Inside, Lambda, Literal, PythonCall, SparkCall, Variable
from astralq.schema import Attribute, Schema, Value

Row = Sequence[Value]
Compiled = Callable[[Row], Value]


def evaluator(expr: Expr, schema: Schema) -> Compiled:
    """A function from a tuple's values to the expression's value.

    >>> from astralq.expr.parse import expression
    >>> s = Schema.parse("a INT, b INT")
    >>> f = evaluator(expression("a / b > 1 OR a IS NULL", s), s)
    >>> f((4, 2)), f((1, 2)), f((None, 2)), f((1, None))
    (True, False, True, None)
    """
    match expr:
        case Column():
            k = schema.index(expr.name)
            return lambda row: row[k]
        case Literal():
            value = expr.value
            return lambda _: value
        case Cast():
            return _cast(expr, schema)
        case Case():
            branches = [(evaluator(c, schema), evaluator(v, schema)) for c, v in expr.branches]
            otherwise = evaluator(expr.otherwise, schema)
            return lambda row: next((v for c, v in branches if c(row)), otherwise)(row)
        case Inside():
            return _inside(expr, schema)
        case PythonCall():
            return _python(expr, schema)
        case SparkCall():
            raise not_in_model(expr.function)
        case Call() if any(isinstance(a, Lambda) for a in expr.args) or expr.function in HIGHER:
            return _higher(expr, schema)
        case Variable():
            place = schema.index(_held(expr))
            return lambda row: row[place]
        case Call() if expr.function in LAZY:
            return LAZY[expr.function](*(evaluator(a, schema) for a in expr.args))
        case Call():
            return _call(expr, schema)
    raise ExpressionError(f"{expr} stands where only a value of one tuple can", hint="use it in an aggregation")


def condition(expr: Expr, schema: Schema) -> Callable[[Row], bool]:
    """A function that is true where the expression is true, not where it is false or NULL."""
    f = evaluator(expr, schema)
    return lambda row: f(row) is True


def _held(variable: Variable) -> str:
    """What the attribute is called that holds a variable's value."""
    return f"{variable.name} ->"


def _higher(expr: Call, schema: Schema) -> Compiled:
    """A function of functions: these see the tuple with their variables behind it."""
    values = [evaluator(a, schema) for a in expr.args if not isinstance(a, Lambda)]
    functions = [_function(a, schema) for a in expr.args if isinstance(a, Lambda)]

    def compute(row: Row) -> Value:
        def over(f: Callable[..., Value]) -> Callable[..., Value]:
            return lambda *given: f(row, *given)

        return applied(expr, [v(row) for v in values], [over(f) for f in functions])

    return compute


def _function(f: Lambda, schema: Schema) -> Callable[..., Value]:
    held = Schema((*schema.attributes, *(Attribute(_held(v), v.type) for v in f.variables)))
    body, count = evaluator(f.body, held), len(f.variables)
    return lambda row, *given: body((*row, *given[:count]))


def _call(expr: Call, schema: Schema) -> Compiled:
    function = TABLE[expr.function]
    args = [evaluator(a, schema) for a in expr.args]
    apply = function.prepare(tuple(a.type for a in expr.args), expr.type)

    def compute(row: Row) -> Value:
        values = [a(row) for a in args]
        if not function.sees_null and None in values:
            return None
        try:
            return apply(*values)
        except EvaluationError as e:
            raise EvaluationError(e.message, hint=e.hint, expr=expr) from None

    return compute


def _cast(expr: Cast, schema: Schema) -> Compiled:
    inner, source, to = evaluator(expr.operand, schema), expr.operand.type, expr.type

    def compute(row: Row) -> Value:
        try:
            return cast_value(inner(row), source, to)
        except EvaluationError:
            if expr.safe:
                return None
            raise

    return compute


def _and(left: Compiled, right: Compiled) -> Compiled:
    def compute(row: Row) -> Value:
        a = left(row)
        if a is False:
            return False
        b = right(row)
        return False if b is False else None if a is None or b is None else True

    return compute


def _or(left: Compiled, right: Compiled) -> Compiled:
    def compute(row: Row) -> Value:
        a = left(row)
        if a is True:
            return True
        b = right(row)
        return True if b is True else None if a is None or b is None else False

    return compute


def _if(test: Compiled, then: Compiled, otherwise: Compiled) -> Compiled:
    return lambda row: then(row) if test(row) else otherwise(row)


def _coalesce(*args: Compiled) -> Compiled:
    return lambda row: next((v for v in (a(row) for a in args) if v is not None), None)


LAZY: dict[str, Callable[..., Compiled]] = {
    "and": _and,
    "or": _or,
    "if": _if,
    "coalesce": _coalesce,
    "nvl": _coalesce,
}


def _inside(expr: Inside, schema: Schema) -> Compiled:
    x, y, region = evaluator(expr.x, schema), evaluator(expr.y, schema), expr.region

    def compute(row: Row) -> Value:
        at = (x(row), y(row))
        if None in at:
            return None
        return region.covers(float(at[0]), float(at[1]))  # type: ignore[arg-type]

    return compute


def _python(expr: PythonCall, schema: Schema) -> Compiled:
    args = [(evaluator(a, schema), a.type) for a in expr.args]
    compute = expr.function.prepared()
    return lambda row: compute([to_python(value(row), type_) for value, type_ in args])
