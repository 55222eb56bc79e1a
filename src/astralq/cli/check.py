"""`astralq check`: all that can be said of query files without running them, and without Spark."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TypeGuard

from astralq.algebra.answers import answer_columns
from astralq.algebra.base import Operator
from astralq.algebra.callables import functions_of
from astralq.algebra.observation import check_ends
from astralq.algebra.sources import Origin, RelationSource, SensedSource, StreamSource
from astralq.cli.look import Look, Source, are_set_aside, look_at, refusals
from astralq.cli.scripts import CommandError, read_all, shown
from astralq.cli.scripts import Source as QueryFile
from astralq.cli.sinks import sink_file
from astralq.errors import AstralError, DataError, Span
from astralq.io.declared import check_sink
from astralq.io.files import described, source_files
from astralq.language import Declared, Statement
from astralq.laws.optimize import optimize
from astralq.printing.answers import Answer
from astralq.sharing.common import Rooted
from astralq.sharing.queries import share


@dataclass
class _File:
    """A query file that is being checked: each source is looked at once, what is wrong is gathered."""

    name: str
    folder: Path
    declared: dict[Operator, Declared]
    problems: list[AstralError] = field(default_factory=list)
    targets: set[Path] = field(default_factory=set)
    _looks: dict[Operator, Look] = field(default_factory=dict)

    def look(self, source: Source) -> Look:
        if source not in self._looks:
            look = look_at(source, self.folder)
            for e in look.problems:
                self.problems.append(e.at(self._place(source, e)))
            self._looks[source] = look
        return self._looks[source]

    def messages(self) -> list[str]:
        """All that is wrong, in the order of the text."""
        far = sys.maxsize
        in_order = sorted(self.problems, key=lambda e: (e.span.line, e.span.column) if e.span else (far, far))
        return [f"{shown(self.name)}: {e}" for e in in_order]

    def unused(self) -> list[Source]:
        """Sources that are declared, but that no query looks at."""
        return [s for s in self.declared if _is_source(s) and s not in self._looks]

    def _place(self, source: Source, error: AstralError) -> Span | None:
        declared = self.declared.get(source)
        if declared is None:
            return None
        attribute = getattr(error, "attribute", None)
        at = None if attribute is None else source.declared.find(attribute)
        # What TIMESTAMP BY computes has no name of its own in the text.
        return declared.name if at is None or at >= len(declared.attributes) else declared.attributes[at]


def check_all(files: Sequence[str], dialect: str | None, bind: Sequence[str] = ()) -> Iterator[str]:
    """What is found out about the queries of each file, line by line; at the end an error with all that is wrong."""
    messages: list[str] = []
    first = True
    for file in files:
        lines, wrong = _checked(file, dialect, bind, several=len(files) > 1)
        for line in lines:
            if line.startswith("--") and not first:
                yield ""
            first = False
            yield line
        messages += wrong
    if messages:
        raise CommandError(list(dict.fromkeys(messages)))


def _checked(name: str, dialect: str | None, bind: Sequence[str], *, several: bool) -> tuple[list[str], list[str]]:
    """The report on a file, and what is wrong with it."""
    try:
        (read,) = read_all([name], dialect, bind=bind)
    except CommandError as e:
        # The sources of a file whose queries are wrong are looked at all the same: both can be put right at once.
        file = _File(name, Path(name).parent, {d.source: d for d in e.sources})
        for source in file.unused():
            file.look(source)
        return [], [*e.messages, *file.messages()]
    file = _File(name, read.folder, {d.source: d for d in read.script.sources})
    of = f" of {shown(name)}" if several else ""
    for function, place in read.script.functions:
        file.problems += [e.at(place) for e in refusals(function.prepared)]
    lines: list[str] = []
    for query in read.script.queries:
        lines += [f"-- query {query.number}{of}", *_report(file, read, query)]
    if unused := file.unused():
        lines += [f"-- used by no query{of}", *(_source_line(file, s) for s in unused)]
    if not read.script.queries:
        file.problems.append(DataError("there is no query", hint="declare sources, then write a query"))
    return lines, file.messages()


def _report(file: _File, read: QueryFile, query: Statement) -> Iterator[str]:
    operator = query.operator
    yield f"kind     {operator.kind.value}"
    yield f"columns  {operator.schema}"
    sources = list(dict.fromkeys(_sources_of(operator)))
    for source in sources:
        yield _source_line(file, source)
        yield from (f"warning  {source.name}: {w}" for w in file.look(source).warnings)
    for function in functions_of(operator):
        yield f"calls    {function.name}: {function.shown}{', deterministic' if function.deterministic else ''}"
    if query.sink is not None:
        yield f"into     {_origin(query.sink)}"
    optimized = optimize(operator)
    for kept in [str(k) for k in optimized.kept] or ["nothing"]:
        yield f"kept     {kept}"
    yield from _added(read, query)
    looks = [file.look(s) for s in sources]
    run = [e for look in looks for e in look.run]
    run += [*refusals(partial(check_ends, operator, query.t0, read.wishes.until)), *_written_by_run(file, query)]
    start = [e for look in looks for e in look.start]
    start += [*optimized.unbounded, *refusals(partial(_followed_by_sink, query.sink))]
    if wrong := [s.name for s, look in zip(sources, looks, strict=True) if look.problems]:
        unusable: list[AstralError] = [DataError(f"{', '.join(wrong)} cannot be used as it is declared")]
        run = run or unusable
        pairs = zip(sources, looks, strict=True)
        aside = all(are_set_aside(s, look.problems) for s, look in pairs if look.problems)
        start = start or ([] if aside else unusable)
    elif run and start:  # nobody would take it
        file.problems += [DataError(f"query {query.number}: {e.message}", hint=e.hint) for e in (*run, *start)]
    yield from _verdict("run", run)
    yield from _verdict("start", start, "takes it, and sets aside rows that do not fit" if wrong else "takes it")


def _added(read: QueryFile, query: Statement) -> Iterator[str]:
    """What a query adds to what those before it keep in a continuous run, where that is not all that it keeps."""
    before = [q for q in read.script.queries if q.number <= query.number]
    if len(before) < 2:
        return
    rooted = [Rooted(f"query {q.number}", optimize(q.operator).after, q.t0) for q in before]
    notes = [n for n in share(rooted, live=True).notes if n.query == rooted[-1].name]
    shared = {n.operator: n for n in notes if n.shared}
    if not shared:
        return
    own = [str(k) for k in optimize(query.operator).kept if k.operator.label not in shared]
    for n in shared.values():
        yield f"shares   {n.operator} with {', '.join(n.with_)}: {n.how}"
    for kept in own or ["nothing but its answer"]:
        yield f"adds     {kept}"


def _sources_of(operator: Operator) -> Iterator[Source]:
    """The sources of a query, and those that designate its sensors."""
    for op in operator.walk():
        if _is_source(op):
            yield op
        if isinstance(op, SensedSource) and op.designation is not None:
            yield from _sources_of(op.designation.relation)


def _is_source(op: Operator) -> TypeGuard[Source]:
    return isinstance(op, StreamSource | RelationSource | SensedSource)


def _written_by_run(file: _File, query: Statement) -> list[AstralError]:
    """Why `run` could not write where INSERT INTO says."""
    if query.sink is None:
        return []
    answer = Answer(query.number, file.name, answer_columns(query.operator), [])
    found = refusals(partial(sink_file, query.sink, file.folder, answer))
    path = file.folder / query.sink.path
    if found:
        return found
    if path.is_dir():
        return [DataError(f"{path} is a folder", hint="give the name of a file")]
    if not path.parent.is_dir():
        return [DataError(f"the folder {path.parent} does not exist", hint="make it first")]
    if path in file.targets:
        return [DataError(f"two queries are inserted into {path}", hint="name two files")]
    file.targets.add(path)
    read = {Path(file.name).resolve()}
    with suppress(DataError):  # what is wrong with the files has been told
        read |= source_files(query.operator, file.folder)
    if path.resolve() in read:
        message = f"{path} is read by this run, so the answer cannot be written to it"
        return [DataError(message, hint="name another file")]
    return []


def _followed_by_sink(sink: Origin | None) -> None:
    if sink is not None:
        check_sink(sink)


def _source_line(file: _File, source: Source) -> str:
    where = "" if source.origin is None else f", {_origin(source.origin)}"
    return f"source   {described(source)}{where}: {file.look(source).found}"


def _verdict(command: str, refusals: list[AstralError], otherwise: str = "takes it") -> Iterator[str]:
    if not refusals:
        yield f"{command:<7}  {otherwise}"
    for e in refusals:
        yield f"{command:<7}  refuses it: {e.message}"
        if e.hint is not None:
            yield f"{'':<9}  hint: {e.hint}"


def _origin(origin: Origin) -> str:
    return f"{origin.format} {origin.path!r}"
