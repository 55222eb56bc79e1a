"""SQL functions for plan tables, under the names that `pyspark.sql.functions` gives them."""

from __future__ import annotations

from collections.abc import Callable

from astralq.plan.columns import Column, _made, column, lit

Argument = Column | str


def call(name: str, *args: Argument) -> Column:
    """Any function, by its name."""
    return _made(f"{name}({', '.join(column(a).text for a in args)})")


def expr(text: str) -> Column:
    """A piece of SQL."""
    return _made(text)


def _plain(name: str) -> Callable[..., Column]:
    def function(*args: Argument) -> Column:
        return call(name, *args)

    return function


abs = _plain("abs")
array = _plain("array")
array_append = _plain("array_append")
array_compact = _plain("array_compact")
array_sort = _plain("array_sort")
asin = _plain("asin")
bool_or = _plain("bool_or")
ceil = _plain("ceil")
coalesce = _plain("coalesce")
collect_list = _plain("collect_list")
concat = _plain("concat")
cos = _plain("cos")
count = _plain("count")
dense_rank = _plain("dense_rank")
element_at = _plain("element_at")
explode = _plain("explode")
first = _plain("first")
flatten = _plain("flatten")
floor = _plain("floor")
greatest = _plain("greatest")
isnan = _plain("isnan")
lag = _plain("lag")
least = _plain("least")
max = _plain("max")
max_by = _plain("max_by")
min = _plain("min")
min_by = _plain("min_by")
pow = _plain("pow")
radians = _plain("radians")
reverse = _plain("reverse")
rint = _plain("rint")
row_number = _plain("row_number")
sequence = _plain("sequence")
size = _plain("size")
sin = _plain("sin")
sqrt = _plain("sqrt")
sum = _plain("sum")
timestamp_micros = _plain("timestamp_micros")
unix_micros = _plain("unix_micros")


def lead(value: Argument, by: int = 1) -> Column:
    return call("lead", value, lit(by))


def last(value: Argument, *, ignorenulls: bool = False) -> Column:
    return call("last", value, lit(ignorenulls))


def pmod(value: Argument, by: Argument) -> Column:
    """The remainder that is never negative."""
    return call("pmod", value, by)


def shiftright(value: Argument, by: int) -> Column:
    return call("shiftright", value, lit(by))


def array_join(value: Argument, between: str) -> Column:
    return call("array_join", value, lit(between))


def array_repeat(value: Argument, times: int) -> Column:
    return call("array_repeat", value, lit(times))


def count_distinct(value: Argument) -> Column:
    return _made(f"count(DISTINCT {column(value).text})")


def raise_error(message: Column) -> Column:
    return call("raise_error", message)


def struct(*fields: Argument) -> Column:
    """A struct whose fields have the columns' names."""
    parts = [part for f in map(column, fields) for part in (lit(f.name).text, f.text)]
    return _made(f"named_struct({', '.join(parts)})")


def desc(value: Argument) -> Column:
    """Descending in an order, NULLs last."""
    return _made(f"{column(value).text} DESC NULLS LAST")


class Case(Column):
    """CASE WHEN … THEN … END, to which further branches can be added."""

    def when(self, condition: Column, value: object) -> Case:
        return _case(f"{self.text[: -len(' END')]} WHEN {condition.text} THEN {_value(value)} END")

    def otherwise(self, value: object) -> Column:
        return _made(f"{self.text[: -len(' END')]} ELSE {_value(value)} END")


def _value(value: object) -> str:
    if isinstance(value, Column):
        return value.text
    assert value is None or isinstance(value, str | int | float | bool)
    return lit(value).text


def _case(text: str) -> Case:
    return Case(text, text)


def when(condition: Column, value: object) -> Case:
    """The value where the condition is true; NULL where no branch is."""
    return _case(f"CASE WHEN {condition.text} THEN {_value(value)} END")


# Higher-order functions: the variables are named after what they stand for.


def transform(array_: Column, f: Callable[[Column], Column]) -> Column:
    return _made(f"transform({array_.text}, item_ -> {f(_made('item_')).text})")


def filtered(array_: Column, f: Callable[[Column], Column]) -> Column:
    """The items of an array for which a condition is true."""
    return _made(f"filter({array_.text}, item_ -> {f(_made('item_')).text})")


def aggregate(
    array_: Column,
    start: Column,
    merge: Callable[[Column, Column], Column],
    finish: Callable[[Column], Column] | None = None,
) -> Column:
    acc = _made("acc_")
    parts = [array_.text, start.text, f"(acc_, each_) -> {merge(acc, _made('each_')).text}"]
    if finish is not None:
        parts.append(f"acc_ -> {finish(acc).text}")
    return _made(f"aggregate({', '.join(parts)})")
