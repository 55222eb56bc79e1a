"""From declarations to sources, regions and functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace

from sqlglot import exp

from astralq.algebra.base import Operator
from astralq.algebra.computed import FILE, MOMENT, OF_FILE, Computed, of_type, over_stored, reads_file
from astralq.algebra.sources import Designation, Origin, RelationSource, SensedSource, StreamSource
from astralq.callables import PythonFunction
from astralq.errors import AstralError, PlanError
from astralq.expr.casts import cast
from astralq.expr.nodes import Column, Expr, Literal
from astralq.expr.parse import Binder, Known
from astralq.expr.python_functions import check_function
from astralq.language.syntax import (
    Bind,
    ColumnDef,
    FunctionDeclaration,
    Moment,
    Name,
    RegionDeclaration,
    RelationDeclaration,
    StreamDeclaration,
)
from astralq.schema import BOOLEAN, DATE, DOUBLE, TIMESTAMP, Attribute, Location, Schema, Type, parse_type
from astralq.space import Region
from astralq.timeline import Duration, duration

_SNEEQL_TYPES = {"FLOAT": DOUBLE, "TIME": TIMESTAMP}


def _schema(columns: tuple[ColumnDef, ...], dialect: str, functions: Known) -> tuple[Schema, Computed]:
    """The attributes, and those of them that are computed: over what is stored, so that one may name another that
    stands before it."""
    attributes = [None if c.type is None else Attribute(c.name.text, _type(c.type, dialect)) for c in columns]
    stored = [a for a, c in zip(attributes, columns, strict=True) if a is not None and c.computed is None]
    made: dict[str, Expr] = {}
    before = list(stored)
    for k, c in enumerate(columns):
        if c.computed is None:
            continue
        wanted, name = attributes[k], c.name.text
        try:
            expr = over_stored(_bound(c.computed, before, c.name.span.source, functions), _lower(made))
            made[name] = expr if wanted is None else of_type(expr, wanted.type, name)
        except AstralError as e:
            raise e.at(c.name.span) from None
        attributes[k] = Attribute(name, made[name].type)
        before.append(Attribute(name, made[name].type))
    return Schema(tuple(a for a in attributes if a is not None)), tuple(made.items())


def _bound(node: exp.Expression, attributes: Sequence[Attribute], source: str, functions: Known) -> Expr:
    """An expression of a row: of its attributes, and the name of its file."""
    file = (FILE,) if any(c.name.lower() == FILE.name for c in node.find_all(exp.Column)) else ()
    return Binder(Schema((*attributes, *(f for f in file if f not in attributes))), functions, source).bind(node)


def _lower(made: Mapping[str, Expr]) -> dict[str, Expr]:
    return {name.lower(): e for name, e in made.items()}


def _type(type_: Name, dialect: str) -> Type:
    try:
        known = _SNEEQL_TYPES.get(type_.text.upper()) if dialect == "sneeql" else None
        return known or parse_type(type_.text)
    except AstralError as e:
        raise e.at(type_.span) from None


def _with_file(schema: Schema, computed: Computed, origin: Origin | None) -> tuple[Schema, Computed]:
    """With the pseudo-column _file, which rows of files have, unless an attribute has its name."""
    if origin is None or origin.format not in ("csv", "json", "parquet") or FILE.name in schema:
        return schema, computed
    return Schema((*schema.attributes, FILE), schema.location), (*computed, OF_FILE)


def _check_files(name: str, origin: Origin | None, computed: Computed) -> None:
    """Only rows of files have the name of one."""
    if reads_file(computed) and (origin is None or origin.format not in ("csv", "json", "parquet")):
        where = "does not say where its rows are" if origin is None else f"is from {origin.format}"
        raise PlanError(f"{name} {where}, and {FILE.name} is the name of a file", hint="leave it out")


def _attribute(schema: Schema, name: Name) -> str:
    try:
        return schema[name.text].name
    except AstralError as e:
        raise e.at(name.span) from None


def _attributes(schema: Schema, names: tuple[Name, ...]) -> tuple[str, ...]:
    return tuple(_attribute(schema, n) for n in names)


def _unit(moment: Moment | None) -> str | None:
    return moment.unit.text.upper() if moment is not None and moment.unit is not None else None


def amount(name: Name) -> Duration:
    """The duration that a piece of text is, with its place in an error."""
    try:
        return duration(name.text)
    except AstralError as e:
        raise e.at(name.span) from None


def bound_to(declared: StreamDeclaration | RelationDeclaration, bind: Bind) -> StreamDeclaration | RelationDeclaration:
    """A declaration with what BIND says besides."""
    name, place = declared.name.text, bind.name.span
    known = {f.name for f in fields(declared)}
    for clause, _ in bind.clauses:
        if clause not in known:
            what = "stream" if isinstance(declared, StreamDeclaration) else "relation"
            raise PlanError(f"{name} is a {what}, which has no {clause.replace('_', ' ').upper()}", span=place)
    for clause, _ in bind.clauses:
        default = next(f.default for f in fields(declared) if f.name == clause)
        if getattr(declared, clause) != default:
            what = "a source" if clause == "origin" else clause.replace("_", " ").upper()
            raise PlanError(f"{name} has {what} already", hint="say it once", span=place)
    return replace(declared, **dict(bind.clauses))


def stream_source(
    declared: StreamDeclaration,
    dialect: str,
    bind_query: Callable[[exp.Expression], Operator],
    functions: Known,
    *,
    file: bool = False,
) -> StreamSource | SensedSource:
    """CREATE STREAM; `file`: queries name the files of its tuples."""
    schema, computed = _schema(declared.columns, dialect, functions)
    _check_files(declared.name.text, declared.origin, computed)
    if file and not declared.progress:
        schema, computed = _with_file(schema, computed, declared.origin)
    heartbeat, place = None, 0
    if declared.heartbeat is not None:
        heartbeat = _attribute(schema, declared.heartbeat)
        if schema[heartbeat].type != BOOLEAN:
            raise PlanError(f"{heartbeat!r} is {schema[heartbeat].type}, not BOOLEAN", span=declared.heartbeat.span)
        place = schema.index(heartbeat)
        schema = Schema(tuple(a for a in schema if a.name != heartbeat))
    if declared.sensed and declared.every is None:
        name = declared.name.text
        raise PlanError(
            f"the sensed extent {name} has no acquisition rate",
            hint=f"BIND {name} TO python 'module:callable' EVERY 1 MINUTE AT SITES (1, 2)",
            span=declared.name.span,
        )
    if declared.progress and declared.on_arrival:
        raise PlanError(
            "WITH PROGRESS reads timestamps back", hint="leave out TIMESTAMP ON ARRIVAL", span=declared.name.span
        )
    if declared.every is not None:
        _refuse_of_sensed(declared)
        designated = None if declared.designation is None else Designation(bind_query(declared.designation))
        return _sensed(declared, schema, designated)
    if declared.location is not None:
        x, y = _attributes(schema, declared.location)
        schema = schema.with_location(Location(x, y, declared.planar))
    moment = declared.timestamp
    if moment is None and dialect == "sneeql" and "time" in schema and not declared.progress:
        # SNEEql's pushed extents have a time; where it is a number, it counts seconds.
        unit = Name("SECONDS", declared.name.span) if schema["time"].type.is_numeric else None
        moment = Moment(Name("time", declared.name.span), unit)
    if moment is not None:
        schema, computed, moment = _stamped(schema, computed, moment, functions)
    if moment is None and not declared.on_arrival and not declared.progress and dialect != "sneeql":
        raise PlanError(
            f"the stream {declared.name.text} does not say when a tuple happens",
            hint="add TIMESTAMP BY attribute, or TIMESTAMP ON ARRIVAL",
            span=declared.name.span,
        )
    return StreamSource(
        declared.name.text,
        schema,
        _attribute(schema, moment.column) if moment is not None else None,
        _attributes(schema, declared.position_by),
        _attribute(schema, declared.batch_by) if declared.batch_by is not None else None,
        declared.batch_each_row,
        _unit(moment),
        amount(declared.lateness) if declared.lateness is not None else Duration(0),
        declared.origin if not declared.progress else _with_header(declared.origin),
        declared.progress,
        heartbeat,
        place,
        computed,
        _attributes(schema, declared.descending),
    )


def _stamped(schema: Schema, computed: Computed, moment: Moment, functions: Known) -> tuple[Schema, Computed, Moment]:
    """TIMESTAMP BY an expression: its value is one more attribute of the rows. A DATE is its midnight."""
    try:
        if moment.computed is None:
            by = schema[moment.column.text]
            if by.type != DATE:
                return schema, computed, moment
            bound: Expr = Column(by.type, by.name)
        else:
            bound = _bound(moment.computed, schema.attributes, moment.column.span.source, functions)
        expr = over_stored(bound, _lower(dict(computed)))
    except AstralError as e:
        raise e.at(moment.column.span) from None
    expr = cast(expr, TIMESTAMP) if expr.type == DATE else expr
    attributes = (*schema.attributes, Attribute(MOMENT, expr.type))
    with_moment = Schema(attributes, schema.location), (*computed, (MOMENT, expr))
    return *with_moment, replace(moment, column=Name(MOMENT, moment.column.span))


def _refuse_of_sensed(declared: StreamDeclaration) -> None:
    """What belongs to pushed streams: a sensed one has its ticks."""
    given = {
        "computed attributes": any(c.computed is not None for c in declared.columns),
        "WITH PROGRESS": declared.progress,
        "HEARTBEAT BY": declared.heartbeat is not None,
        "LATENESS": declared.lateness is not None,
        "TIMESTAMP": declared.timestamp is not None or declared.on_arrival,
        "POSITION BY": bool(declared.position_by),
        "BATCH": declared.batch_by is not None or declared.batch_each_row,
        "LOCATION BY": declared.location is not None,
    }
    for clause, there in given.items():
        if there:
            raise PlanError(f"a sensed stream has no {clause}", hint="leave it out", span=declared.name.span)


def _with_header(origin: Origin | None) -> Origin | None:
    """What WITH PROGRESS writes as csv has a header, by which it is read back."""
    if origin is None or origin.format != "csv":
        return origin
    if origin.option("header", "true").lower() != "true":
        raise PlanError("csv files WITH PROGRESS have a header", hint="leave out header")
    if origin.option("header", ""):
        return origin
    return replace(origin, options=(*origin.options, ("header", "true")))


def _sensed(declared: StreamDeclaration, schema: Schema, designation: Designation | None) -> SensedSource:
    assert declared.every is not None
    missing = [n for n in ("site", "time") if n not in schema]
    if missing:
        raise PlanError(
            f"the sensed stream {declared.name.text} has no attribute {missing[0]!r}",
            hint="a sensed stream has attributes site and time, which are filled in",
            span=declared.name.span,
        )
    sites = []
    for node in declared.sites:
        bound = (
            Binder(Schema(()), {}, declared.name.span.source).bind(node) if isinstance(node, exp.Expression) else None
        )
        if not isinstance(bound, Literal):
            raise PlanError(
                "a site is a constant", hint="write for example AT SITES (1, 2, 3)", span=declared.name.span
            )
        sites.append(bound.value)
    return SensedSource(
        declared.name.text,
        schema,
        amount(declared.every),
        tuple(sites),
        schema["site"].name,
        schema["time"].name,
        declared.origin,
        designation,
    )


def relation_source(
    declared: RelationDeclaration, dialect: str, functions: Known, *, file: bool = False
) -> RelationSource:
    """CREATE RELATION; `file`: queries name the files of its rows. A change is about a row of any file."""
    schema, computed = _schema(declared.columns, dialect, functions)
    _check_files(declared.name.text, declared.origin, computed)
    if file and declared.change is None:
        schema, computed = _with_file(schema, computed, declared.origin)
    moment = declared.valid_from or declared.at
    return RelationSource(
        declared.name.text,
        schema,
        _attribute(schema, declared.valid_from.column) if declared.valid_from is not None else None,
        _attribute(schema, declared.valid_to) if declared.valid_to is not None else None,
        _attribute(schema, declared.change) if declared.change is not None else None,
        _attribute(schema, declared.at.column) if declared.at is not None else None,
        _attributes(schema, declared.key),
        _attributes(schema, declared.position_by),
        _unit(moment),
        declared.origin,
        computed,
        _attributes(schema, declared.descending),
    )


def region(declared: RegionDeclaration) -> Region:
    """CREATE REGION."""
    try:
        return Region(declared.name.text, declared.wkt.text)
    except AstralError as e:
        raise e.at(declared.wkt.span) from None


def function(declared: FunctionDeclaration, folder: str) -> PythonFunction:
    """CREATE FUNCTION; its callable is imported where it is called."""

    def type_of(name: Name) -> Type:
        try:
            return parse_type(name.text)
        except AstralError as e:
            raise e.at(name.span) from None

    made = PythonFunction(
        declared.name.text,
        type_of(declared.result),
        tuple(map(type_of, declared.parameters)),
        declared.path.text,
        deterministic=declared.deterministic,
        aggregate=declared.aggregate,
        folder=folder,
    )
    try:
        return check_function(made)
    except AstralError as e:
        raise e.at(declared.name.span) from None
