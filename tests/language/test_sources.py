"""The language, Sources: each clause of a declaration is in the source; views and starts are as they are created."""

from __future__ import annotations

import pytest

from astralq.algebra.base import Operator
from astralq.algebra.sources import Origin, RelationSource, SensedSource, StartedAt, StreamSource
from astralq.language import ScriptError, read_script
from astralq.language.printer import print_script
from astralq.model import Data
from astralq.schema import Location, schema
from astralq.timeline import duration, instant
from tests.language.support import DECLARED, S, bound, error
from tests.support import answer, at, sec, single

KVT = schema("k INT, v DOUBLE, ts TIMESTAMP")
CSV = Origin("csv", "path")


def declared(text: str, dialect: str = "astral") -> Operator:
    return bound("SELECT * FROM z", dialect, text)


STREAMS: dict[str, StreamSource] = {
    "TIMESTAMP BY ts": StreamSource("z", KVT, "ts", origin=CSV),
    "OPTIONS (header = 'true', sep = ';') TIMESTAMP BY ts": StreamSource(
        "z", KVT, "ts", origin=Origin("csv", "path", (("header", "true"), ("sep", ";")))
    ),
    "TIMESTAMP BY TS": StreamSource("z", KVT, "ts", origin=CSV),
    "TIMESTAMP BY k UNIT SECONDS": StreamSource("z", KVT, "k", unit="SECONDS", origin=CSV),
    "TIMESTAMP BY k UNIT milliseconds": StreamSource("z", KVT, "k", unit="MILLISECONDS", origin=CSV),
    "TIMESTAMP BY k UNIT MICROSECONDS": StreamSource("z", KVT, "k", unit="MICROSECONDS", origin=CSV),
    "TIMESTAMP ON ARRIVAL": StreamSource("z", KVT, origin=CSV),
    "TIMESTAMP BY ts POSITION BY v, k": StreamSource("z", KVT, "ts", ("v", "k"), origin=CSV),
    "TIMESTAMP BY ts BATCH BY k": StreamSource("z", KVT, "ts", batch_by="k", origin=CSV),
    "TIMESTAMP BY ts BATCH EACH ROW": StreamSource("z", KVT, "ts", batch_each_row=True, origin=CSV),
    "TIMESTAMP BY ts LATENESS 5 SECONDS": StreamSource("z", KVT, "ts", lateness=duration("5 s"), origin=CSV),
    "TIMESTAMP BY ts LOCATION BY (v, k)": StreamSource("z", KVT.with_location(Location("v", "k")), "ts", origin=CSV),
    "TIMESTAMP BY ts LOCATION BY (v, k) PLANAR": StreamSource(
        "z", KVT.with_location(Location("v", "k", True)), "ts", origin=CSV
    ),
    "TIMESTAMP BY ts POSITION BY v BATCH BY k LOCATION BY (v, k) PLANAR LATENESS '1 min'": StreamSource(
        "z", KVT.with_location(Location("v", "k", True)), "ts", ("v",), "k", lateness=duration("1 min"), origin=CSV
    ),
}


@pytest.mark.parametrize("clauses", STREAMS)
def test_each_clause_of_a_stream_is_in_the_source(clauses: str) -> None:
    text = f"CREATE STREAM z (k INT, v DOUBLE, ts TIMESTAMP) FROM csv 'path' {clauses};"
    assert declared(text) == STREAMS[clauses]


def test_a_lateness_may_be_written_without_a_space() -> None:
    text = "CREATE STREAM z (k INT, v DOUBLE, ts TIMESTAMP) FROM csv 'path' TIMESTAMP BY ts LATENESS 5s;"
    assert declared(text) == StreamSource("z", KVT, "ts", lateness=duration("5 s"), origin=CSV)


@pytest.mark.parametrize("form", ["csv", "json", "parquet", "kafka", "rate", "python", "CSV"])
def test_a_stream_comes_from_any_format(form: str) -> None:
    text = f"CREATE STREAM z (ts TIMESTAMP) FROM {form} 'path' TIMESTAMP BY ts;"
    assert declared(text) == StreamSource("z", schema("ts TIMESTAMP"), "ts", origin=Origin(form.lower(), "path"))


OPTS = schema("op STRING, id INT, a TIMESTAMP, b TIMESTAMP, n INT")
RELATIONS: dict[str, RelationSource] = {
    "": RelationSource("z", OPTS, origin=CSV),
    "POSITION BY n": RelationSource("z", OPTS, position_by=("n",), origin=CSV),
    "VALID FROM a": RelationSource("z", OPTS, "a", origin=CSV),
    "VALID FROM a TO b": RelationSource("z", OPTS, "a", "b", origin=CSV),
    "VALID FROM id TO n UNIT SECONDS POSITION BY op": RelationSource(
        "z", OPTS, "id", "n", position_by=("op",), unit="SECONDS", origin=CSV
    ),
    "CHANGES BY op AT a": RelationSource("z", OPTS, change="op", at="a", origin=CSV),
    "CHANGES BY op AT n UNIT SECONDS KEY (id) POSITION BY b": RelationSource(
        "z", OPTS, change="op", at="n", key=("id",), position_by=("b",), unit="SECONDS", origin=CSV
    ),
    "CHANGES BY op AT a KEY (id, n)": RelationSource("z", OPTS, change="op", at="a", key=("id", "n"), origin=CSV),
}


@pytest.mark.parametrize("clauses", RELATIONS)
def test_each_clause_of_a_relation_is_in_the_source(clauses: str) -> None:
    text = f"CREATE RELATION z (op STRING, id INT, a TIMESTAMP, b TIMESTAMP, n INT) FROM csv 'path' {clauses};"
    assert declared(text) == RELATIONS[clauses]


def test_a_relation_comes_from_a_database_too() -> None:
    text = "CREATE RELATION z (id INT) FROM jdbc 'url' OPTIONS (dbtable = 't');"
    assert declared(text) == RelationSource("z", schema("id INT"), origin=Origin("jdbc", "url", (("dbtable", "t"),)))


ROAD = SensedSource(
    "z",
    schema("site INT, time TIMESTAMP, temp INT"),
    duration("1 min"),
    (1, 2, 3),
    "site",
    "time",
    Origin("python", "module:callable"),
)


def test_a_sensed_stream_has_its_sites_and_period() -> None:
    text = """CREATE STREAM z (site INT, time TIMESTAMP, temp INT)
      SENSED EVERY 1 MINUTE AT SITES (1, 2, 3) FROM python 'module:callable';"""
    assert declared(text) == ROAD


def test_sneeqls_declarations_are_accepted_in_its_dialect() -> None:
    sensed = """z: sensed (site:integer, time:timestamp, temp:integer)
      EVERY 1 MINUTE AT SITES (1, 2, 3) FROM python 'module:callable';"""
    assert declared(sensed, "sneeql") == ROAD
    pushed = "z: pushed (site:integer, time:timestamp) FROM csv 'path' TIMESTAMP BY time;"
    assert declared(pushed, "sneeql") == StreamSource("z", schema("site INT, time TIMESTAMP"), "time", origin=CSV)
    stored = "z: stored (temp:integer, category:string) FROM csv 'path';"
    assert declared(stored, "sneeql") == RelationSource("z", schema("temp INT, category STRING"), origin=CSV)


def test_sneeqls_declarations_are_an_error_in_other_dialects() -> None:
    assert "sneeql" in error("z: stored (temp:integer) FROM csv 'path';\nSELECT * FROM z;")


def test_keywords_are_case_insensitive_and_comments_are_skipped() -> None:
    text = """create stream Z ( -- a comment; with a semicolon
      V int, TS timestamp) from CSV 'path' timestamp by ts; /* another */"""
    assert declared(text) == StreamSource("Z", schema("V INT, TS TIMESTAMP"), "TS", origin=CSV)


# Views, starts and sinks


def test_a_view_is_its_query() -> None:
    assert bound("CREATE VIEW a AS SELECT * FROM s; SELECT * FROM A") == S.operator
    assert bound("CREATE VIEW a AS ISTREAM(SELECT * FROM s [NOW]); SELECT * FROM a").kind is S.operator.kind


def test_a_view_may_use_a_view() -> None:
    text = "CREATE VIEW a AS SELECT * FROM s; CREATE VIEW b AS SELECT * FROM a WHERE v > 1; SELECT * FROM b"
    assert bound(text) == S.where("v > 1").operator


def test_a_query_has_the_start_that_is_in_force() -> None:
    text = f"""{DECLARED} SELECT * FROM s; START AT TIMESTAMP '2026-03-01'; SELECT * FROM s;
      START AT TIMESTAMP '2026-03-02T12:00:00+02:00'; SELECT * FROM s;"""
    starts = [q.t0 for q in read_script(text).queries]
    assert starts == [None, instant("2026-03-01T00:00:00Z"), instant("2026-03-02T10:00:00Z")]


def test_a_view_keeps_the_start_where_it_was_created() -> None:
    text = """START AT TIMESTAMP '2026-03-01'; CREATE VIEW a AS SELECT * FROM s;
      START AT TIMESTAMP '2026-03-02'; SELECT * FROM a"""
    assert bound(text) == StartedAt(S.operator, instant("2026-03-01"))


def test_a_view_created_before_any_start_has_its_history() -> None:
    """docs/decisions.md: a view keeps the t0 in force where it was created, which by default is the epoch."""
    text = f"""{DECLARED} CREATE VIEW a AS SELECT v FROM s [UNBOUNDED];
      START AT TIMESTAMP '1970-01-01T00:00:05Z'; SELECT v FROM a;"""
    query = read_script(text).queries[0]
    data: Data = {"s": single((1, 1), (7, 7))}
    assert answer(query.operator, data, t0=5) == [("+", 5, 0, 1), ("+", 7, 0, 7)]


def test_queries_are_numbered_and_keep_their_text() -> None:
    script = read_script(f"{DECLARED} SELECT * FROM s; CREATE VIEW a AS SELECT * FROM s; SELECT v FROM a -- end")
    assert [(q.number, q.text) for q in script.queries] == [(1, "SELECT * FROM s"), (2, "SELECT v FROM a")]


def test_insert_into_names_where_the_answer_goes() -> None:
    script = read_script(f"{DECLARED} INSERT INTO csv 'out' OPTIONS (header = 'true') SELECT * FROM s;")
    assert script.queries[0].sink == Origin("csv", "out", (("header", "true"),))
    assert script.queries[0].operator == S.operator
    assert read_script(f"{DECLARED} INSERT INTO kafka 'topic' ISTREAM(SELECT * FROM r);").queries[0].sink == Origin(
        "kafka", "topic"
    )


def test_insert_into_an_unknown_format_is_an_error() -> None:
    assert "unknown format 'foo'" in error(f"{DECLARED} INSERT INTO foo 'out' SELECT * FROM s;")


# What the clauses mean, on data


def rows_of(clauses: str, query: str, rows: list[tuple[object, ...]]) -> list[tuple[object, ...]]:
    text = f"CREATE STREAM z (a INT, b INT, t INT) FROM csv 'z.csv' TIMESTAMP BY t UNIT SECONDS {clauses};"
    return answer(bound(query, declared=text), {"z": rows})


SIMULTANEOUS: list[tuple[object, ...]] = [(2, 1, 5), (1, 2, 5), (1, 0, 5)]


def test_simultaneous_tuples_are_ordered_by_position_by_or_by_all_values() -> None:
    assert rows_of("", "SELECT a, b FROM z", SIMULTANEOUS) == [(5, 0, 1, 0), (5, 0, 1, 2), (5, 0, 2, 1)]
    assert rows_of("POSITION BY b", "SELECT a, b FROM z", SIMULTANEOUS) == [(5, 0, 1, 0), (5, 0, 2, 1), (5, 0, 1, 2)]


def test_batches_are_by_an_attribute_or_by_row() -> None:
    assert rows_of("BATCH BY b", "SELECT a FROM z", SIMULTANEOUS) == [(5, 0, 1), (5, 1, 2), (5, 2, 1)]
    assert rows_of("BATCH EACH ROW", "SELECT a FROM z", SIMULTANEOUS) == [(5, 0, 1), (5, 1, 1), (5, 2, 2)]


def test_a_change_log_without_a_key_takes_out_the_oldest_equal_row() -> None:
    text = "CREATE RELATION z (op STRING, ts TIMESTAMP, id INT) FROM csv 'z.csv' CHANGES BY op AT ts;"
    data: Data = {"z": [("+", sec(1), 7), ("+", sec(2), 7), ("-", sec(3), 7)]}
    assert answer(bound("SELECT id FROM z", declared=text), data) == [("+", 1, 0, 7), ("+", 2, 0, 7), ("-", 3, 0, 7)]


def test_an_options_name_may_have_dots_as_in_spark() -> None:
    script = read_script(
        "CREATE STREAM s (v INT, ts TIMESTAMP) FROM kafka 'topic' "
        "OPTIONS (kafka.bootstrap.servers = 'here:9092', kafka.group.id = 'g') TIMESTAMP BY ts; SELECT * FROM s [NOW];"
    )
    (source,) = [op for op in script.queries[0].operator.walk() if isinstance(op, StreamSource)]
    assert source.origin is not None
    assert dict(source.origin.options) == {"kafka.bootstrap.servers": "here:9092", "kafka.group.id": "g"}


def test_sites_may_be_what_a_relation_holds() -> None:
    text = """CREATE RELATION watched (id INT) FROM csv 'w.csv';
    CREATE STREAM road (site INT, time TIMESTAMP, temp INT)
      SENSED EVERY 1 MINUTE AT SITES (SELECT id FROM watched WHERE id > 3) FROM python 'm:c';
    SELECT temp FROM road;"""
    operator = read_script(text).queries[0].operator
    road = next(op for op in operator.walk() if isinstance(op, SensedSource))
    assert road.designation is not None
    assert str(road.designation.relation).splitlines()[0] == "PROJECT id"
    assert read_script(print_script(operator)).queries[0].operator == operator


@pytest.mark.parametrize(
    ("sites", "message"),
    [
        ("SELECT id, name FROM watched", "the sites have 2 attributes"),
        ("SELECT name FROM watched", "the sites are STRING, and 'site' is INT"),
        ("SELECT id FROM s", "the sites are a stream"),
    ],
)
def test_sites_are_one_attribute_of_a_relation(sites: str, message: str) -> None:
    text = f"""CREATE RELATION watched (id INT, name STRING) FROM csv 'w.csv';
    CREATE STREAM s (id INT, ts TIMESTAMP) FROM csv 's.csv' TIMESTAMP BY ts;
    CREATE STREAM road (site INT, time TIMESTAMP) SENSED EVERY 1 MINUTE AT SITES ({sites}) FROM python 'm:c';"""
    with pytest.raises(ScriptError, match=message):
        read_script(text)


def test_position_by_takes_desc() -> None:
    columns = "a INT, b STRING, ts TIMESTAMP"
    text = f"CREATE STREAM z ({columns}) FROM csv 'path' TIMESTAMP BY ts POSITION BY b DESC, a ASC;"
    source = declared(text)
    assert source == StreamSource("z", schema(columns), "ts", ("b", "a"), origin=CSV, descending=("b",))
    rows = [(1, "a", sec(5)), (2, "b", sec(5)), (3, None, sec(5)), (0, "b", sec(5)), (9, "z", sec(6))]
    found = answer(bound("SELECT a FROM z", declared=text), {"z": rows})
    assert found == [(5, 0, 0), (5, 0, 2), (5, 0, 1), (5, 0, 3), (6, 0, 9)]  # NULL is the least value
    assert "POSITION BY b DESC, a;" in print_script(source)


def test_a_stored_relation_takes_desc_and_a_change_log_does_not() -> None:
    text = "CREATE RELATION r (a INT, op STRING, ts TIMESTAMP) FROM csv 'r.csv'"
    stored = bound("SELECT a FROM r", declared=f"{text} POSITION BY a DESC;")
    assert at(stored, {"r": [(1, "+", sec(0)), (3, "-", sec(0)), (2, "+", sec(0))]}, 1) == [(3,), (2,), (1,)]
    assert error(f"{text} CHANGES BY op AT ts POSITION BY a DESC;").splitlines()[0] == (
        "line 1, column 17: relation r: the changes of an instant act in ascending order of POSITION BY"
    )
