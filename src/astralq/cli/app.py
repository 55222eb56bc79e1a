"""The commands and their options."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from astralq.cli.answers import Question
from astralq.cli.engines import ENGINES, SparkEngine, SparkPlace, engine_named, reads_little
from astralq.cli.formats import BY_SUFFIX, FORMATS
from astralq.cli.options import (
    Bind,
    Checkpoint,
    Conf,
    Dialect,
    File,
    Files,
    Master,
    NoLaws,
    NoSharing,
    Remote,
    Without,
    one_of,
)
from astralq.cli.output import write_all
from astralq.cli.run import Output, questions_of, run_all, spare_inputs
from astralq.cli.scripts import CommandError, errors_of, read_all
from astralq.cli.words import Commands
from astralq.errors import AstralError, TimeError
from astralq.printing.values import TIMES
from astralq.timeline import Duration, Instant, duration, instant

if TYPE_CHECKING:
    from astralq.laws.rule import Rule

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


@app.command(epilog="Example: astralq new my-sensors")
def new(name: Annotated[str, typer.Argument(metavar="NAME", hidden=True)]) -> None:
    """Make a folder with two queries and sample data to begin with."""
    from astralq.cli.new import make_starter

    with _reported_errors():
        print(make_starter(name))


@app.command(epilog="Example: astralq check buoys.aql")
def check(files: Files, dialect: Dialect = None, bind: Bind = None) -> None:
    """Look at queries and their sources, without running them."""
    from astralq.cli.check import check_all

    with _reported_errors():
        try:
            for line in check_all(files, dialect, bind or ()):
                print(line)
        finally:
            sys.stdout.flush()


@app.command(epilog="Example: astralq run buoys.aql --at 2026-03-01T12:00:00Z --format csv")
def run(
    files: Files,
    at: Annotated[str | None, typer.Option(metavar="T", help="The state at T; of a stream, all up to T.")] = None,
    until: Annotated[str | None, typer.Option(metavar="T", help="Everything up to T, inclusive.")] = None,
    dialect: Dialect = None,
    bind: Bind = None,
    engine: Annotated[
        str,
        typer.Option(
            metavar="E", help=" | ".join(ENGINES), envvar="ASTRALQ_ENGINE", callback=one_of("engine", ENGINES)
        ),
    ] = "spark",
    format_: Annotated[
        str | None,
        typer.Option("--format", metavar="F", help=" | ".join(FORMATS), callback=one_of("format", FORMATS)),
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="PATH", help="Write to a file; its suffix is a format.")] = None,
    time: Annotated[
        str, typer.Option(metavar="U", help=f"Times: {' | '.join(TIMES)}", callback=one_of("form of time", TIMES))
    ] = "iso",
    no_laws: NoLaws = False,
    without: Without = None,
    no_sharing: NoSharing = False,
    master: Master = None,
    conf: Conf = None,
    remote: Remote = None,
) -> None:
    """Answer the queries of files; - is standard input."""
    if at is not None and until is not None:
        raise typer.BadParameter("give either --at or --until, not both", param_hint="--at")
    moments = (_moment("--at", at), _moment("--until", until))
    _check_engine(engine, master, conf or [], remote)
    where = _where(master, conf, remote)
    chosen = format_ or (BY_SUFFIX.get(out.suffix.lower()) if out is not None else None) or "table"
    if chosen == "parquet" and out is None:
        raise typer.BadParameter("parquet is written to a file; add --out PATH", param_hint="--format")
    with _reported_errors():
        sources = read_all(files, dialect, asked=True, bind=bind or ())
        asked_of = questions_of(sources, *moments)
        printed = [q for q in asked_of if q.statement.sink is None]
        sinks = [q.folder / q.statement.sink.path for q in asked_of if q.statement.sink is not None]
        spare_inputs(sources, [*sinks, *([out] if out is not None else [])])
        output = Output(chosen, time, out, len(printed) > 1, len(files) > 1)
        where = replace(where, little=reads_little(asked_of))
        asked = engine_named(engine, where, not no_laws, without or (), not no_sharing)
        answered = run_all(asked, asked_of, output)
    if not answered:
        raise typer.Exit(2)


@app.command(epilog="Example: astralq start buoys.aql --checkpoint /data/buoys --idle 30s")
def start(
    file: File,
    checkpoint: Annotated[Path, typer.Option(metavar="DIR", help="Where the run keeps what it needs to go on.")],
    once: Annotated[bool, typer.Option("--once", help="Answer all that is there, and end.")] = False,
    dialect: Dialect = None,
    bind: Bind = None,
    format_: Annotated[
        str,
        typer.Option("--format", metavar="F", help=" | ".join(LIVE), callback=one_of("format", LIVE)),
    ] = "table",
    time: Annotated[
        str, typer.Option(metavar="U", help=f"Times: {' | '.join(TIMES)}", callback=one_of("form of time", TIMES))
    ] = "iso",
    progress: Annotated[Path | None, typer.Option(metavar="FILE", help="Progress as JSON lines.")] = None,
    trigger: Annotated[str, typer.Option(metavar="D", help="How often to look for work.")] = "1 s",
    idle: Annotated[str | None, typer.Option(metavar="D", help="Exclude a source that is idle for so long.")] = None,
    allow_unbounded_state: Annotated[
        bool, typer.Option("--allow-unbounded-state", help="Also queries that keep all that comes.")
    ] = False,
    no_laws: NoLaws = False,
    without: Without = None,
    no_sharing: NoSharing = False,
    master: Master = None,
    conf: Conf = None,
) -> None:
    """Answer the queries of a file for as long as their sources go on."""
    from astralq.cli.live import Printed, ProgressReporter
    from astralq.cli.start import start_all

    periods = [_period("--trigger", trigger), None if idle is None else _period("--idle", idle)]
    assert periods[0] is not None
    with _reported_errors():
        (source,) = read_all([file], dialect, asked=True, bind=bind or ())
        with ProgressReporter(progress) as report:
            status = start_all(
                source,
                checkpoint,
                once=once,
                allow_unbounded_state=allow_unbounded_state,
                trigger=periods[0],
                idle=periods[1],
                printed=Printed(format_, time, len(source.script.queries)),
                on_progress=report,
                master=master,
                conf=_settings(conf),
                rules=_rules(no_laws, without),
                sharing=not no_sharing,
            )
    raise typer.Exit(status)


@app.command("queries", epilog="Example: astralq queries /data/buoys")
def queries_(
    checkpoint: Checkpoint,
    json: Annotated[bool, typer.Option("--json", help="The same as JSON, for programs.")] = False,
) -> None:
    """Show the queries of a checkpoint, and how far each has come."""
    from astralq.cli import life

    with _reported_errors():
        print(life.shown(checkpoint, as_json=json))


@app.command(epilog="Example: astralq add /data/buoys anomalies.aql")
def add(
    checkpoint: Checkpoint,
    file: File,
    name: Annotated[str | None, typer.Option(metavar="N", help="Its name; the file's by default.")] = None,
    dialect: Dialect = None,
    bind: Bind = None,
    allow_unbounded_state: Annotated[
        bool, typer.Option("--allow-unbounded-state", help="Also queries that keep all that comes.")
    ] = False,
) -> None:
    """Add the queries of a file to a run that is going on."""
    from astralq.cli import life

    with _reported_errors():
        names = life.add(checkpoint, file, dialect, bind or (), name, allow_unbounded=allow_unbounded_state)
        print("\n".join(f"query {n} is added" for n in names))


@app.command(epilog="Example: astralq drop /data/buoys anomalies")
def drop(checkpoint: Checkpoint, name: Annotated[str, typer.Argument(metavar="NAME", hidden=True)]) -> None:
    """Drop a query of a run that is going on, with its state."""
    from astralq.cli import life

    with _reported_errors():
        life.drop(checkpoint, name)
        print(f"query {name} is dropped")


@app.command(epilog="Example: astralq explain buoys.aql")
def explain(
    file: File,
    dialect: Dialect = None,
    bind: Bind = None,
    spark: Annotated[bool, typer.Option("--spark", help="Also Spark's physical plans; reads the sources.")] = False,
    json: Annotated[bool, typer.Option("--json", help="The same as JSON, for programs.")] = False,
    no_laws: NoLaws = False,
    without: Without = None,
    master: Master = None,
    conf: Conf = None,
    remote: Remote = None,
) -> None:
    """Show the plans of a file's queries; - is standard input."""
    from astralq.cli.explain import Explained, as_text, json_text

    with _reported_errors():
        (source,) = read_all([file], dialect, asked=True, bind=bind or ())
        where = _where(master, conf, remote)
        engine = SparkEngine(where, not no_laws, tuple(without or ())) if spark else None
        explained: list[Explained] = []
        for k, query in enumerate(source.script.queries):
            with errors_of(file):
                question = Question(k + 1, file, source.folder, query, None, source.wishes.until)
                explained.append(Explained.of(question, engine, _rules(no_laws, without)))
        print(json_text(explained) if json else as_text(explained))
        sys.stdout.flush()


@app.command(epilog="Example: astralq draw buoys.aql --out buoys.svg")
def draw(
    file: File,
    out: Annotated[Path, typer.Option(metavar="PATH", help="The picture's file; its suffix is .svg or .png.")],
    until: Annotated[str | None, typer.Option(metavar="T", help="Everything up to T, inclusive.")] = None,
    dialect: Dialect = None,
    bind: Bind = None,
) -> None:
    """Draw the tuples, windows and answers of a file's queries."""
    from astralq.cli.draw import drawn

    end = _moment("--until", until)
    with _reported_errors():
        (source,) = read_all([file], dialect, bind=bind or ())
        picture = drawn(source, out, end)
        spare_inputs([source], [out])
        write_all({out: picture})


@app.command(epilog="Example: astralq laws select_through_window --trials 1000")
def laws(
    names: Annotated[list[str] | None, typer.Argument(metavar="[LAW]...", hidden=True)] = None,
    trials: Annotated[int, typer.Option(metavar="N", help="On how many random queries each is tried.", min=1)] = 200,
    seed: Annotated[int, typer.Option(metavar="S", help="The first of their seeds.")] = 0,
) -> None:
    """Try the optimizer's laws on random queries, against the model."""
    from astralq.cli.laws import tried_laws

    with _reported_errors():
        if not tried_laws(names or [], trials, seed):
            raise typer.Exit(1)


@app.command(epilog="Example: astralq compare buoys.aql --chronon 3s --out differences.svg")
def compare(
    file: File,
    chronon: Annotated[
        list[str] | None, typer.Option(metavar="D", help="A tick of CQL to compare with; 1 s and 1 min by default.")
    ] = None,
    until: Annotated[str | None, typer.Option(metavar="T", help="Everything up to T, inclusive.")] = None,
    out: Annotated[Path | None, typer.Option(metavar="PATH", help="A picture of all answers, .svg or .png.")] = None,
    bind: Bind = None,
) -> None:
    """Answer queries as several systems would, and say why they differ."""
    from astralq.cli.compare import Comparisons

    chronons = [_period("--chronon", c) for c in chronon or []]
    end = _moment("--until", until)
    with _reported_errors():
        (source,) = read_all([file], "astral", asked=True, bind=bind or ())
        compared = Comparisons(source, chronons, end, bind or ())
        if out is not None:
            spare_inputs([source], [out])
            write_all({out: compared.picture(out)})
        print("\n".join(compared.lines()))
        sys.stdout.flush()


server_commands = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
app.add_typer(server_commands, name="server", help="Keep a Spark of this machine warm, for run and explain.")


@server_commands.command("start", epilog="Example: astralq server start --conf spark.driver.memory=4g")
def server_start(master: Master = None, conf: Conf = None) -> None:
    """Start a server; run and explain use it as long as it runs."""
    from astralq.cli import server

    with _reported_errors():
        print(server.start(master, _settings(conf)))


@server_commands.command("status", epilog="Example: astralq server status")
def server_status() -> None:
    """Show whether a server runs, since when, how long nobody used it, and its memory; the status is 1 if none runs."""
    from astralq.cli import server

    with _reported_errors():
        said = server.status()
        print(said or "no server is running")
    raise typer.Exit(0 if said else 1)


@server_commands.command("stop", epilog="Example: astralq server stop")
def server_stop() -> None:
    """Stop the server."""
    from astralq.cli import server

    with _reported_errors():
        print(server.stop())


@app.command(epilog="Example: astralq demo --keep ocean")
def demo(
    rows: Annotated[int, typer.Option(metavar="N", help="About how many measures there are.", min=1)] = 20_000,
    keep: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Keep the data and the queries, to play with.")
    ] = None,
    master: Master = None,
) -> None:
    """Ask an ocean of buoys, and answer live for ten seconds."""
    from astralq.cli.demo.show import show_all

    with _reported_errors():
        show_all(rows, keep, master)


@contextmanager
def _reported_errors() -> Iterator[None]:
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


def _rules(no_laws: bool, without: list[str] | None) -> tuple[Rule, ...]:
    from astralq.laws.optimize import rules_without

    return rules_without(without or (), laws=not no_laws)


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


def _where(master: str | None, conf: list[str] | None, remote: str | None) -> SparkPlace:
    if remote is not None and master is not None:
        raise typer.BadParameter("give either --master or --remote, not both", param_hint="--remote")
    return SparkPlace(master, tuple(_settings(conf).items()), remote)


def _settings(conf: list[str] | None) -> dict[str, str]:
    return {k: v for k, _, v in (pair.partition("=") for pair in conf or [])}


def _check_engine(engine: str, master: str | None, conf: list[str], remote: str | None) -> None:
    if engine == "spark":
        return
    for option, given in (("--master", master), ("--conf", conf), ("--remote", remote)):
        if given:
            raise typer.BadParameter(f"{option} is for Spark, and the engine is the model", param_hint=option)
