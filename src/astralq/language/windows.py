"""The inside of a window's brackets: from text to a schedule and a scope.

The bounds of [ALPHA … BETA …] and [FOR …] are linear forms in j or t with amounts of time, not scalar expressions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import time

from astralq.algebra.functions import Affine, Formula, Step, UpTo
from astralq.algebra.schedules import AtInstants, Loop, Measure, Schedule, TimeOfDay
from astralq.algebra.scopes import OfInstant, Scope
from astralq.algebra.windows import (
    WindowSpec,
    fixed,
    from_to,
    general,
    hop,
    landmark,
    last_batch,
    last_row,
    moving,
    range_,
    rows,
    session,
    tumble,
    unbounded,
)
from astralq.errors import AstralError, WindowError, nearest
from astralq.language.linear import LinearReader
from astralq.language.words import Word, rows_or_text
from astralq.space import is_distance
from astralq.timeline import Duration, duration


@dataclass(frozen=True)
class ScanEvery:
    """[SCAN d], over a relation."""

    every: Duration


@dataclass(frozen=True)
class InRegion:
    """[RANGE BY region RATTR SPACE]."""

    name: str
    spec: WindowSpec


@dataclass(frozen=True)
class NowScope:
    """[FROM NOW-a TO NOW-b SLIDE c], with amounts of time or rows: SNEEql's window."""

    start: str | int
    end: str | int
    slide: str | int
    partition: tuple[str, ...] = ()
    delay: str | int | None = None


Read = WindowSpec | ScanEvery | InRegion | NowScope

FORMS = (
    *("RANGE", "ROWS", "NOW", "LAST", "UNBOUNDED", "FIXED", "LANDMARK", "TUMBLE", "HOP", "SESSION"),
    *("FROM", "SCAN", "ALPHA", "START", "FOR", "AT", "PARTITION"),
)


class WindowReader(LinearReader):
    """Reads one window: a named form, or the general one."""

    names: Sequence[str] = ()

    # ---- forms

    def read(self) -> Read:
        """The whole of the brackets."""
        first = self.words[0].start if self.words else self.end
        try:
            found = self._read()
        except AstralError as e:
            raise e.at(self.span(first, self.end)) from None
        if self.at < len(self.words):
            first_comes = self.peek("PARTITION", "BY")
            hint = "PARTITION BY comes first" if first_comes else "the window is complete before it"
            if self.peek("EVERY"):
                hint = "RANGE and ROWS have SLIDE: write for example [RANGE 1 HOUR SLIDE 10 MINUTES]"
            raise self.fail(f"{self.words[self.at].text!r} cannot stand here", hint)
        return found

    def _read(self) -> Read:
        partition: tuple[str, ...] = ()
        if self.take("PARTITION", "BY"):
            partition = tuple(self._part() for _ in self._commas())
        found = self._form()
        delay = rows_or_text(self.amount("a delay")) if self.take("DELAY") else None
        match found:
            case WindowSpec():
                return _changed(found, partition, delay)
            case InRegion():
                return replace(found, spec=_changed(found.spec, partition, delay))
            case NowScope():
                return replace(found, partition=partition, delay=delay)
        if partition or delay is not None:
            raise self.fail("a SCAN has neither parts nor a delay")
        return found

    def _commas(self) -> Iterator[None]:
        """Once, and again behind each comma."""
        yield
        while self.take(","):
            yield

    def _part(self) -> str:
        """An attribute of PARTITION BY; its qualifier is a name of the stream that the window stands behind."""
        word = self.attribute()
        qualifier, _, name = word.text.rpartition(".")
        known = [n for n in self.names if n]
        if qualifier and qualifier.strip("`").lower() not in (n.lower() for n in known):
            hint = f"the window stands behind {known[0]}" if known else "leave out the qualifier"
            raise WindowError(
                f"{qualifier!r} is not the stream of this window", hint=hint, span=self.span(word.start, word.end)
            )
        return name.strip("`")

    def _form(self) -> Read:
        if self.take("NOW"):
            return range_("0 s")
        if self.take("LAST", "BATCH"):
            return last_batch()
        if self.take("LAST", "ROW"):
            return last_row()
        if self.take("UNBOUNDED") or self.take("RANGE", "UNBOUNDED") or self.take("ROWS", "UNBOUNDED"):
            return unbounded(self.slide() if self.take("SLIDE") else 1)
        if self.take("RANGE", "BY"):
            return self._range_by()
        if self.take("RANGE"):
            return self._sliding(self.amount())
        if self.take("ROWS"):
            return self._sliding(self.number("a number of rows"))
        if self.take("FIXED", "FROM"):
            start = self.moment()
            self.expect("TO")
            return fixed(start, self.moment())
        if self.take("LANDMARK"):
            start = self.moment()
            self.expect("SLIDE")
            return landmark(start, self.amount())
        if self.take("TUMBLE"):
            size, zone = self.amount(), self._zone()
            offset = self._offset()
            return tumble(size, offset, zone or self._zone() or "UTC")
        if self.take("HOP"):
            size = self.amount()
            self.expect("EVERY", hint="write for example [HOP 1 HOUR EVERY 10 MINUTES]; SLIDE belongs to RANGE")
            every, zone = self.amount(), self._zone()
            offset = self._offset()
            return hop(size, every, offset, zone or self._zone() or "UTC")
        if self.take("SESSION"):
            return session(self.amount("the gap between sessions"))
        if self.take("SCAN"):
            return ScanEvery(duration(self.amount()))
        if self.take("FROM"):
            return self._from_now()
        if self.take("ALPHA"):
            return self._alpha_beta()
        if self.take("START"):
            return self._start_end()
        if self.take("FOR"):
            return self._for()
        if self.take("AT"):
            return self._at()
        word = self.words[self.at].text if self.at < len(self.words) else "]"
        if self.peek("LAST"):
            raise self.fail("expected ROW or BATCH after LAST", "the last three rows, for example, are [ROWS 3]")
        raise self.fail(
            f"expected a window, not {word}", nearest(word, FORMS) or "write for example [RANGE 10 MINUTES]"
        )

    def _offset(self) -> str:
        """By how much windows are later than on the epoch's own grid, of TUMBLE and HOP."""
        return self.amount("an offset") if self.take("OFFSET") else "0 s"

    def _zone(self) -> str | None:
        """AT TIME ZONE '…', if it stands here."""
        return self.word("a time zone").text.strip("'\"") if self.take("AT", "TIME", "ZONE") else None

    def _sliding(self, held: str | int) -> WindowSpec:
        """RANGE x or ROWS n, with a slide, two slides by time of day, or none."""
        if not self.take("SLIDE"):
            return rows(held) if isinstance(held, int) else range_(held)
        slide = self.slide()
        if not self.take("BETWEEN"):
            return rows(held, slide) if isinstance(held, int) else range_(held, slide)
        start = _time_of_day(self.word("a time of day").text)
        self.expect("AND")
        end = _time_of_day(self.word("a time of day").text)
        self.expect("ELSE", "SLIDE")
        outside = self.amount()
        zone = self._zone() or "UTC"
        base = rows(held) if isinstance(held, int) else range_(held)
        schedule: Schedule = TimeOfDay(start, end, duration(str(slide)), duration(outside), zone)
        return WindowSpec(schedule, base.scope)

    def _range_by(self) -> Read:
        """004: RANGE BY v1 RATTR SPACE|TIME [SLIDE BY v2 SATTR SPACE|TIME]."""
        word = self.words[self.at] if self.at < len(self.words) else None
        if word is not None and word.kind == "word":
            self.at += 1
            self.expect("RATTR", "SPACE")
            if not self.take("SLIDE", "BY"):
                return InRegion(word.text, unbounded())
            return InRegion(word.text, unbounded(self._attributed(self.amount("a distance or a duration"), "SATTR")))
        width = self._attributed(self.amount("a distance or a duration"), "RATTR")
        if not self.take("SLIDE", "BY"):
            if is_distance(width):
                raise self.fail("a moving window needs SLIDE BY", "write … SLIDE BY '10 km' SATTR SPACE")
            return range_(width)
        slide = self._attributed(self.amount("a distance or a duration"), "SATTR")
        return moving(width, slide)

    def _attributed(self, amount: str, keyword: str) -> str:
        """The amount, which has to be of the measure that RATTR or SATTR names."""
        self.expect(keyword)
        wants_space = self.take("SPACE")
        if not wants_space:
            self.expect("TIME")
        if is_distance(amount) != wants_space:
            self.at -= 1
            raise self.fail(f"{amount!r} is not a {'distance' if wants_space else 'duration'}")
        return amount

    def _from_now(self) -> NowScope:
        start = self._now()
        self.expect("TO")
        end = self._now()
        self.expect("SLIDE")
        slide = self.slide()
        if isinstance(slide, int):
            return NowScope(self._rows_back(*start), self._rows_back(*end), slide)
        unit = slide.split()[-1]
        lo, hi = (f"{n} {u.text if u is not None else unit}" for n, u in (start, end))
        return NowScope(lo, hi, slide)

    def _now(self) -> tuple[int, Word | None]:
        """NOW or NOW-n: n counts in SLIDE's unit unless it has its own."""
        self.expect("NOW")
        if not self.take("-"):
            return 0, None
        if self.peek("INTERVAL"):
            self.at += 1
            quoted = self.word("a length of time")
            if quoted.kind not in ("string", "number") or not quoted.text.strip("'\"").isdigit():
                raise self.fail("expected a length of time", "write for example NOW - INTERVAL '10' SECOND")
            return int(quoted.text.strip("'\"")), self.word("a unit")
        count = self.number("a number")
        word = self.words[self.at] if self.at < len(self.words) else None
        if word is not None and word.kind == "word" and word.text.upper() not in ("TO", "SLIDE"):
            self.at += 1
            return count, word
        return count, None

    def _rows_back(self, count: int, unit: Word | None) -> int:
        """A distance from NOW in rows, as the slide is."""
        if unit is not None and unit.text.upper() not in ("ROW", "ROWS"):
            raise WindowError(
                f"{count} {unit.text} is not in rows, as the slide is",
                hint="give both ends and the slide in one measure",
                span=self.span(unit.start, unit.end),
            )
        return count

    def _alpha_beta(self) -> WindowSpec:
        alpha = self.linear("j", ("BETA",))
        self.expect("BETA")
        beta = self.linear("j", ("RATE",))
        self.expect("RATE")
        return _general(alpha, beta, self.slide())

    def _start_end(self) -> WindowSpec:
        """000 §6.1.3: START a END b RATE r ADVANCE START c END d."""
        start = self.constant(("END",))
        self.expect("END")
        end = self.constant(("RATE",))
        self.expect("RATE")
        rate = self.slide()
        self.expect("ADVANCE", "START")
        start_adv = self.constant(("END",))
        self.expect("END")
        end_adv = self.constant(("DELAY",))
        return _general((start_adv, start), (end_adv, end), rate)

    def _for(self) -> WindowSpec:
        """000 §6.1.4: FOR (t = a; t < b; t = t + c) FROM begin TO end."""
        opened = self.at
        self.expect("(", "T", "=")
        init = self.moment()
        self.expect(";", "T")
        sign = self.word("a comparison").text
        sign += "=" if self.take("=") else ""
        if sign not in ("<", "<="):
            raise self.fail(f"expected t < or t <= and a time, not {sign}")
        limit = self.moment()
        self.expect(";", "T", "=")
        step = self._step()
        self.expect(")")
        text = self.source[self.words[opened].start : self.words[self.at - 1].end]
        scope = self._window_is() if self.take("WINDOWIS") else self._from_to()
        return WindowSpec(Loop(" ".join(text.split()), init, UpTo(limit, sign == "<="), step), scope)

    def _step(self) -> Step | Formula:
        """The next value of a loop: t + 1 DAY, or any arithmetic of t."""
        step = self.formula("t")
        found = step.simplest
        return Step(found.shift) if isinstance(found, Affine) and found.factor == 1 else step

    def _from_to(self) -> Scope:
        """FROM begin TO end, functions of t."""
        self.expect("FROM")
        begin = self._of_t()
        self.expect("TO")
        return Scope(Measure.TIME, begin, self._of_t())

    def _window_is(self) -> Scope:
        """TelegraphCQ's WindowIs(S, begin, end), as 000 §6.1.4 prints it."""
        self.expect("(")
        stream = self.word("the stream's name")
        known = [n for n in self.names if n]
        if known and stream.text.lower() not in (n.lower() for n in known):
            raise WindowError(
                f"WindowIs is of {stream.text!r}",
                hint=f"the window stands behind {known[-1]}",
                span=self.span(stream.start, stream.end),
            )
        self.expect(",")
        begin = self._of_t()
        self.expect(",")
        end = self._of_t()
        self.expect(")")
        self.take(";")
        return Scope(Measure.TIME, begin, end)

    def _at(self) -> WindowSpec:
        """000 D12: AT a list of instants, RANGE x or ROWS n, or FROM begin TO end."""
        instants = [self.moment() for _ in self._commas()]
        schedule = AtInstants(tuple(instants))
        if self.take("RANGE"):
            return WindowSpec(schedule, range_(self.amount()).scope)
        if self.take("ROWS"):
            return WindowSpec(schedule, rows(self.number("a number of rows")).scope)
        if not self.peek("FROM"):
            raise self.fail("expected RANGE, ROWS or FROM after the instants", "write [AT TIMESTAMP '…' RANGE 1 HOUR]")
        return WindowSpec(schedule, self._from_to())

    def _of_t(self) -> OfInstant:
        """A bound: a time, or any arithmetic of t."""
        first = self.at
        if self.at < len(self.words) and self.words[self.at].kind == "string":
            function: Affine | Formula = Affine(0, self.moment())
        elif self.at >= len(self.words):
            raise self.fail("expected a bound, for example t - 5 SECONDS")
        else:
            function = self.formula("t").simplest
        text = " ".join(self.source[self.words[first].start : self.words[self.at - 1].end].split())
        return OfInstant(text, function)


def _general(alpha: tuple[str, str], beta: tuple[str, str], rate: str | int) -> WindowSpec:
    """The general window; a rate in rows takes plain numbers, a rate in time durations."""
    (a, b), (c, d) = (tuple(_bound(v, rate) for v in bound) for bound in (alpha, beta))
    return general((a, b), (c, d), rate)


def _bound(amount: str, rate: str | int) -> str | int:
    number, _, unit = amount.partition(" ")
    if isinstance(rate, int):
        if unit and unit.lower() not in ("row", "rows"):
            raise WindowError(
                f"the bound {amount} is not in rows, as the rate is", hint="give bounds and rate in one measure"
            )
        return int(number)
    if not unit:
        return f"{number} {rate.split()[-1]}" if number == "0" else _no_unit(amount)
    return amount


def _no_unit(amount: str) -> str:
    raise WindowError(f"the bound {amount} has no unit", hint="write for example 2s*j + 3s")


def _time_of_day(text: str) -> time:
    try:
        return time.fromisoformat(text.strip("'\""))
    except ValueError:
        raise WindowError(f"{text} is not a time of day", hint="write for example '07:00'") from None


def read_window(text: str, start: int, source: str, names: Sequence[str] = ()) -> Read:
    """The window in a pair of brackets, whose inside begins at `start` in the source.

    `names` are those of the stream that it stands behind, by which its attributes may be qualified.
    """
    reader = WindowReader(text, start, source)
    reader.names = names
    return reader.read()


def _changed(spec: WindowSpec, partition: tuple[str, ...], delay: str | int | None) -> WindowSpec:
    """The window in each part, and later by a delay."""
    spec = spec.by(*partition) if partition else spec
    return spec if delay is None else spec.delayed(delay)


def as_spec(read: NowScope) -> WindowSpec:
    """SNEEql's window as a temporal relation: the same scope, of which the last evaluation shows."""
    return _changed(from_to(read.start, read.end, read.slide), read.partition, read.delay)
