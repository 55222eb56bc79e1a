"""The commands and their options."""

from __future__ import annotations

import io
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

from astralq.algebra.state import kept_state
from astralq.cli.answers import Question
from astralq.cli.engines import ENGINES, CommandEngine, SparkEngine, engine_named
from astralq.cli.formats import BY_SUFFIX, FORMATS, write_by_spark, write_parquet, write_text
from astralq.cli.output import Write, make_folder, write_all
from astralq.cli.progress import progress
from astralq.cli.scripts import CommandError, Source, blamed_on, read_all, shown
from astralq.cli.sinks import sink_file
from astralq.cli.words import Commands
from astralq.errors import AstralError, DataError, TimeError, nearest
from astralq.language.script import DIALECTS
from astralq.model.files import source_files
from astralq.printing.answers import Answer
from astralq.printing.values import TIMES
from astralq.timeline import Duration, Instant, duration, format_instant, instant

LIVE = ("table", "csv", "jsonl")
"""The formats in which a continuous run prints."""

app = typer.Typer(
    cls=Commands,
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def command() -> None:
    """The whole command line, with its output in UTF-8 wherever it goes."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    app(prog_name="astralq")


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"astralq {version('astralq')}, on Spark {version('pyspark')}")
        raise typer.Exit


@app.callback(epilog="Example: astralq run query.aql --format jsonl")
def _commands(
    asked: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Exact continuous queries over sensor streams."""


def _one_of(what: str, known: Sequence[str]) -> Callable[[str | None], str | None]:
    """A check that an option's value is one of those known, in any case."""

    def check(value: str | None) -> str | None:
        if value is None or value.lower() in known:
            return None if value is None else value.lower()
        meant = nearest(value, known)
        raise typer.BadParameter(f"{value!r} is no {what}; " + (meant or f"use {', '.join(known)}"))

    return check


def _pairs(given: list[str] | None) -> list[str]:
    for pair in given or []:
        if not pair.partition("=")[0].strip() or "=" not in pair:
            raise typer.BadParameter(f"{pair!r} is not of the form k=v")
    return given or []


Files = Annotated[list[str], typer.Argument(metavar="FILE", hidden=True)]
File = Annotated[str, typer.Argument(metavar="FILE", hidden=True)]
Dialect = Annotated[
    str | None,
    typer.Option(metavar="D", help=" | ".join(DIALECTS), callback=_one_of("dialect", DIALECTS)),
]


@app.command(epilog="Example: astralq new my-sensors")
def new(name: Annotated[str, typer.Argument(metavar="NAME", hidden=True)]) -> None:
    """Make a folder with two queries and sample data to begin with."""
    from astralq.cli.new import make_starter

    with _told():
        print(make_starter(name))


@app.command(epilog="Example: astralq check buoys.aql")
def check(files: Files, dialect: Dialect = None) -> None:
    """Look at queries and their sources, without running them."""
    from astralq.cli.check import check_all

    with _told():
        try:
            for line in check_all(files, dialect):
                print(line)
        finally:
            sys.stdout.flush()


@app.command(epilog="Example: astralq run buoys.aql --at 2026-03-01T12:00:00Z --format csv")
def run(
    files: Files,
    at: Annotated[str | None, typer.Option(metavar="T", help="The state at T; of a stream, all up to T.")] = None,
    until: Annotated[str | None, typer.Option(metavar="T", help="Everything up to T, inclusive.")] = None,
    dialect: Dialect = None,
    engine: Annotated[
        str,
        typer.Option(
            metavar="E", help=" | ".join(ENGINES), envvar="ASTRALQ_ENGINE", callback=_one_of("engine", ENGINES)
        ),
    ] = "spark",
    format_: Annotated[
        str | None,
        typer.Option("--format", metavar="F", help=" | ".join(FORMATS), callback=_one_of("format", FORMATS)),
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="PATH", help="Write to a file; its suffix is a format.")] = None,
    time: Annotated[
        str, typer.Option(metavar="U", help=f"Times: {' | '.join(TIMES)}", callback=_one_of("form of time", TIMES))
    ] = "iso",
    master: Annotated[str | None, typer.Option(metavar="M", help="Spark's master.")] = None,
    conf: Annotated[list[str] | None, typer.Option(metavar="K=V", help="A setting of Spark.", callback=_pairs)] = None,
) -> None:
    """Answer the queries of files; - is standard input."""
    if at is not None and until is not None:
        raise typer.BadParameter("give either --at or --until, not both", param_hint="--at")
    moments = (_moment("--at", at), _moment("--until", until))
    _check_engine(engine, master, conf or [])
    asked = engine_named(engine, master, conf or [])
    chosen = format_ or (BY_SUFFIX.get(out.suffix.lower()) if out is not None else None) or "table"
    if chosen == "parquet" and out is None:
        raise typer.BadParameter("parquet is written to a file; add --out PATH", param_hint="--format")
    with _told():
        sources = read_all(files, dialect)
        _check_asked(sources)
        answers, sinks = _answers(asked, sources, *moments)
        _spare_inputs(sources, [*sinks, *([out] if out is not None else [])])
        _write(answers, sinks, chosen, time, out, several_files=len(files) > 1)


@app.command(epilog="Example: astralq start buoys.aql --checkpoint /data/buoys --idle 30s")
def start(
    file: File,
    checkpoint: Annotated[Path, typer.Option(metavar="DIR", help="Where the run keeps what it needs to go on.")],
    once: Annotated[bool, typer.Option("--once", help="Answer all that is there, and end.")] = False,
    dialect: Dialect = None,
    format_: Annotated[
        str,
        typer.Option("--format", metavar="F", help=" | ".join(LIVE), callback=_one_of("format", LIVE)),
    ] = "table",
    time: Annotated[
        str, typer.Option(metavar="U", help=f"Times: {' | '.join(TIMES)}", callback=_one_of("form of time", TIMES))
    ] = "iso",
    progress: Annotated[Path | None, typer.Option(metavar="FILE", help="Progress as JSON lines.")] = None,
    trigger: Annotated[str, typer.Option(metavar="D", help="How often to look for something to do.")] = "1 s",
    idle: Annotated[
        str | None, typer.Option(metavar="D", help="After so long a silent source holds nobody back.")
    ] = None,
    allow_unbounded_state: Annotated[
        bool, typer.Option("--allow-unbounded-state", help="Also queries that keep all that comes.")
    ] = False,
    master: Annotated[str | None, typer.Option(metavar="M", help="Spark's master.")] = None,
    conf: Annotated[list[str] | None, typer.Option(metavar="K=V", help="A setting of Spark.", callback=_pairs)] = None,
) -> None:
    """Answer the queries of a file for as long as their sources go on."""
    from astralq.cli.live import Printed, Told
    from astralq.cli.start import start_all

    periods = [_period("--trigger", trigger), None if idle is None else _period("--idle", idle)]
    assert periods[0] is not None
    with _told():
        (source,) = read_all([file], dialect)
        _check_asked([source])
        with Told(progress) as tell:
            status = start_all(
                source,
                checkpoint,
                once=once,
                allow_unbounded_state=allow_unbounded_state,
                trigger=periods[0],
                idle=periods[1],
                printed=Printed(format_, time, len(source.script.queries)),
                tell=tell,
                master=master,
                conf={k: v for k, _, v in (pair.partition("=") for pair in conf or [])},
            )
    raise typer.Exit(status)


@app.command(epilog="Example: astralq explain buoys.aql")
def explain(
    file: File,
    dialect: Dialect = None,
    spark: Annotated[bool, typer.Option("--spark", help="Also Spark's physical plans; reads the sources.")] = False,
    master: Annotated[str | None, typer.Option(metavar="M", help="Spark's master.")] = None,
    conf: Annotated[list[str] | None, typer.Option(metavar="K=V", help="A setting of Spark.", callback=_pairs)] = None,
) -> None:
    """Show the plans of a file's queries; - is standard input."""
    with _told():
        (source,) = read_all([file], dialect)
        _check_asked([source])
        engine = SparkEngine(master, tuple(pair.partition("=")[::2] for pair in conf or [])) if spark else None
        queries = source.script.queries
        for k, query in enumerate(queries):
            if len(queries) > 1:
                print(f"{chr(10) if k else ''}-- query {query.number}")
            start = "1970-01-01T00:00:00Z, as there is no START AT" if query.t0 is None else format_instant(query.t0)
            print(f"kind  {query.operator.kind.value}\nt0    {start}\n\n{query.operator.explain()}")
            kept = [str(k) for k in kept_state(query.operator)] or ["nothing"]
            print("\n".join(["", "kept by a continuous run", *(f"  {k}" for k in kept)]))
            if engine is not None:
                with blamed_on(file):
                    question = Question(k + 1, file, source.folder, query, None, source.wishes.until)
                    print(f"\n{engine.plan(question)}")
        sys.stdout.flush()


@app.command(epilog="Example: astralq draw buoys.aql --out buoys.svg")
def draw(
    file: File,
    out: Annotated[Path, typer.Option(metavar="PATH", help="The picture's file; its suffix is .svg or .png.")],
    until: Annotated[str | None, typer.Option(metavar="T", help="Everything up to T, inclusive.")] = None,
    dialect: Dialect = None,
) -> None:
    """Draw the tuples, windows and answers of a file's queries."""
    from astralq.cli.draw import drawn

    end = _moment("--until", until)
    with _told():
        (source,) = read_all([file], dialect)
        picture = drawn(source, out, end)
        _spare_inputs([source], [out])
        write_all({out: picture})


@app.command(epilog="Example: astralq demo --keep ocean")
def demo(
    rows: Annotated[int, typer.Option(metavar="N", help="About how many measures there are.", min=1)] = 20_000,
    keep: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Keep the data and the queries, to play with.")
    ] = None,
    master: Annotated[str | None, typer.Option(metavar="M", help="Spark's master.")] = None,
) -> None:
    """Ask an ocean of buoys, and answer live for ten seconds."""
    from astralq.cli.demo.show import show_all

    with _told():
        show_all(rows, keep, master)


@contextmanager
def _told() -> Iterator[None]:
    """Errors go to standard error, and the status is 2."""
    try:
        yield
    except CommandError as e:
        print(e, file=sys.stderr)
        raise typer.Exit(2) from None
    except AstralError as e:
        print(f"astralq: {e}", file=sys.stderr)
        raise typer.Exit(2) from None
    except BrokenPipeError:
        raise
    except OSError as e:
        print(f"astralq: the answer cannot be written: {e.strerror or e}", file=sys.stderr)
        raise typer.Exit(2) from None


def _period(option: str, value: str) -> Duration:
    try:
        found = duration(value)
    except TimeError as e:
        raise typer.BadParameter(f"{e.message}; {e.hint}" if e.hint else e.message, param_hint=option) from None
    if found <= 0:
        raise typer.BadParameter(f"{value!r} is not longer than nothing", param_hint=option)
    return found


def _moment(option: str, value: str | None) -> Instant | None:
    try:
        return None if value is None else instant(value)
    except TimeError as e:
        raise typer.BadParameter(f"{e.message}; {e.hint}" if e.hint else e.message, param_hint=option) from None


def _check_engine(engine: str, master: str | None, conf: list[str]) -> None:
    if engine == "spark":
        return
    for option, given in (("--master", master), ("--conf", conf)):
        if given:
            raise typer.BadParameter(f"{option} is for Spark, and the engine is the model", param_hint=option)


def _check_asked(sources: Sequence[Source]) -> None:
    for source in sources:
        if not source.script.queries:
            with blamed_on(source.file):
                raise DataError("there is no query", hint="declare sources, then write a query")


def _answers(
    engine: CommandEngine, sources: list[Source], at: Instant | None, until: Instant | None
) -> tuple[list[Answer], dict[Path, Write]]:
    """The answers to all queries, and for those with INSERT INTO the files that they go to."""
    questions = [
        Question(k, source.file, source.folder, query, at, until or (source.wishes.until if at is None else None))
        for k, (source, query) in enumerate(((s, q) for s in sources for q in s.script.queries), start=1)
    ]
    answers = []
    sinks: dict[Path, Write] = {}
    with progress() as tell:
        for q in questions:
            tell(f"query {q.number} of {len(questions)}, {shown(q.file)}")
            with blamed_on(q.file):
                if q.statement.sink is None:
                    answers.append(engine.answer(q))
                else:
                    path, write = sink_file(q.statement.sink, q.folder, engine.answer(q))
                    if path in sinks:
                        raise DataError(f"two queries are inserted into {path}", hint="name two files")
                    sinks[path] = write
    return answers, sinks


def _spare_inputs(sources: list[Source], targets: list[Path]) -> None:
    """An answer never replaces a file that the run reads: its queries or their data."""
    if not targets:
        return
    read = {Path(s.file).resolve() for s in sources}
    for source in sources:
        for query in source.script.queries:
            read |= source_files(query.operator, source.folder)
    for target in targets:
        if target.resolve() in read:
            raise DataError(
                f"{target} is read by this run, so the answer cannot be written to it", hint="name another file"
            )


def _write(
    answers: list[Answer], sinks: dict[Path, Write], format_: str, time: str, out: Path | None, *, several_files: bool
) -> None:
    """All files first, then standard output."""
    files = dict(sinks)
    if out is not None and format_ == "parquet":
        files |= _parquet_files(answers, time, out)
    elif out is not None:

        def write(path: Path) -> None:
            with path.open("w", encoding="utf-8", newline="") as f:
                write_text(answers, format_, time, f, several_files=several_files)

        files[out] = write
    write_all(files)
    if out is None:
        _print(answers, format_, time, several_files=several_files)


def _print(answers: list[Answer], format_: str, time: str, *, several_files: bool) -> None:
    """To standard output, and nothing at all if anything fails: rows may be computed while they are written."""
    if format_ == "table":
        write_text(answers, format_, time, sys.stdout, several_files=several_files)
    else:
        with tempfile.TemporaryFile("w+", encoding="utf-8", newline="") as waiting:
            write_text(answers, format_, time, waiting, several_files=several_files)
            waiting.seek(0)
            shutil.copyfileobj(waiting, sys.stdout)
    sys.stdout.flush()


def _parquet_files(answers: list[Answer], time: str, out: Path) -> dict[Path, Write]:
    """One file; or, for several queries, a folder with a file for each."""

    def writer(answer: Answer) -> Write:
        return lambda path: write_parquet(answer, time, path)

    if any(a.frame is not None for a in answers):
        targets = [out] if len(answers) == 1 else [out / f"{a.number}.parquet" for a in answers]
        for answer, target in zip(answers, targets, strict=True):
            write_by_spark(answer, time, target)
        return {}

    if len(answers) == 1:
        return {out: writer(answers[0])}
    if answers:
        make_folder(out)
    return {out / f"{a.number}.parquet": writer(a) for a in answers}
