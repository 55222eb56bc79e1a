"""Python callables that queries name: how they are found, what they are given, and what they may give back."""

from __future__ import annotations

import importlib
import inspect
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from types import ModuleType
from typing import Any

from astralq.datatypes import MapValue, date_of, day_of, to_float32
from astralq.errors import AstralError, DataError, EvaluationError, nearest
from astralq.schema import EXACT, Type, Value, article, fits
from astralq.timeline import Duration, Instant, instant, to_datetime


def find_callable(path: str, folder: Path) -> Callable[..., Any]:
    """The callable that 'module:callable' names: of a module beside the query, in the current folder, or installed."""
    name, _, attribute = path.partition(":")
    if not name or not attribute:
        raise DataError(f"python {path!r} names no callable", hint="write 'module:callable'")
    with importable(folder):
        found: Any = _module(name, folder)
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise DataError(f"the module {name!r} has no {attribute!r}", hint=nearest(part, vars(found)))
        found = getattr(found, part)
    if not callable(found):
        raise DataError(f"python {path!r} is {found!r}, not a callable")
    return found  # type: ignore[no-any-return]


@contextmanager
def importable(folder: Path) -> Iterator[None]:
    """Modules beside the query file, then those in the current folder, can be imported."""
    added = [str(folder.resolve()), str(Path.cwd())]
    sys.path[:0] = added
    try:
        yield
    finally:
        for path in added:
            sys.path.remove(path)


def _module(name: str, folder: Path) -> ModuleType:
    importlib.invalidate_caches()
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as e:
        if e.name is None or (name != e.name and not name.startswith(f"{e.name}.")):
            raise DataError(f"the module {name!r} imports {e.name!r}, which is not there") from None
        places = " and ".join(dict.fromkeys(str(p.resolve()) for p in (folder, Path.cwd())))
        names = [f.stem for f in folder.glob("*.py")]
        raise DataError(
            f"there is no module {name!r}; looked in {places} and among what is installed", hint=nearest(name, names)
        ) from None
    except (Exception, SystemExit) as e:
        raise DataError(f"the module {name!r} cannot be imported: {what_failed(e)}") from e
    beside = (folder / f"{name}.py").resolve()
    loaded = getattr(module, "__file__", None)
    if beside.is_file() and (loaded is None or Path(loaded).resolve() != beside):
        raise DataError(
            f"the module {name!r} beside the query is hidden by {loaded or 'a module of Python'}",
            hint="give it another name",
        )
    return module


def what_failed(e: BaseException) -> str:
    """An exception in one line, with where it was raised."""
    frame = traceback.extract_tb(e.__traceback__)[-1]
    return f"{type(e).__name__}: {e} ({Path(frame.filename).name}, line {frame.lineno})"


@dataclass(frozen=True)
class PythonFunction:
    """A function of queries that a Python callable computes: a value of those of a tuple, or of those of a group.

    It is known by its name, in digests too: whoever changes what it computes gives it another one.
    """

    name: str
    result: Type
    parameters: tuple[Type, ...] | None = None  # None: whatever it is given
    path: str = ""  # module:callable; empty where the callable itself is given
    given: Callable[..., Any] | None = None
    deterministic: bool = False  # the same values for the same arguments: promised by who declares it
    aggregate: bool = False
    folder: str = field(default="", compare=False)  # where the query file is: modules beside it can be imported

    named = True  # digests take the callable by the name below

    @property
    def text(self) -> str:
        return self.name

    def __str__(self) -> str:
        return self.name

    @property
    def shown(self) -> str:
        return f"python {self.path!r}" if self.path else f"the callable of {self.name}"

    def prepared(self) -> Callable[[Sequence[Any]], Value]:
        """A function of Python's values, which are lists for an aggregate: what the callable gives, as a value of the
        declared type. An error if there is no such callable, or if it takes other arguments than are declared."""
        computed = find_callable(self.path, Path(self.folder)) if self.given is None else self.given
        if self.parameters is not None and not takes(computed, len(self.parameters)):
            declared = f"{len(self.parameters)} argument{'' if len(self.parameters) == 1 else 's'}"
            raise DataError(f"{self.shown} cannot be called with the {declared} that {self.name} declares")

        def compute(values: Sequence[Any]) -> Value:
            try:
                found = computed(*values)
            except (Exception, SystemExit) as e:
                raise EvaluationError(f"{self._called(values)} failed: {what_failed(e)}") from None
            try:
                return from_python(found, self.result)
            except (ValueError, AstralError):
                wanted = f"{article(self.result)} {self.result}"
                raise EvaluationError(f"{self._called(values)} gave {found!r}, which is not {wanted}") from None

        return compute

    def _called(self, values: Sequence[Any]) -> str:
        """The call, with arguments that are not too long to read."""
        texts = ("NULL" if v is None else repr(v) for v in values)
        return f"{self.name}({', '.join(t if len(t) <= _LONG else f'{t[:_LONG]}…' for t in texts)})"


_LONG = 60
"""How many characters of an argument an error shows."""


def takes(function: Callable[..., Any], count: int) -> bool:
    """Whether a callable takes so many arguments, as far as it says."""
    try:
        inspect.signature(function).bind(*range(count))
    except TypeError:
        return False
    except ValueError:  # one of C that does not say
        return True
    return True


def to_python(value: Value, type_: Type) -> Any:
    """A value as a callable gets it: a TIMESTAMP as a datetime of UTC, an INTERVAL as a timedelta, NULL as None.

    >>> from astralq.schema import TIMESTAMP
    >>> to_python(1_500_000, TIMESTAMP)
    datetime.datetime(1970, 1, 1, 0, 0, 1, 500000, tzinfo=datetime.timezone.utc)
    """
    if value is None:
        return None
    match type_.name, value:
        case "TIMESTAMP", int():
            return to_datetime(Instant(value))
        case "DATE", int():
            return date_of(value)
        case "INTERVAL", int():
            return timedelta(microseconds=value)
        case "MAP", MapValue():
            return {to_python(k, type_.key): to_python(v, type_.element) for k, v in value}
        case "ARRAY", tuple():
            return [to_python(v, type_.element) for v in value]
        case "STRUCT", tuple():
            return {n: to_python(v, t) for v, (n, t) in zip(value, type_.parts, strict=True)}
    return value


def from_python(value: Any, type_: Type) -> Value:
    """What a callable gave as a value of a type; ValueError where it is none.

    Numbers of numpy are taken as Python's; whole numbers are DOUBLEs and DECIMALs too, and a Decimal is rounded half up
    to the scale.

    >>> from astralq.schema import DOUBLE, INT
    >>> from_python(2, DOUBLE), from_python(2, INT)
    (2.0, 2)
    """
    if hasattr(value, "item") and hasattr(value, "dtype"):
        value = value.item()
    match type_.name, value:
        case _, None:
            return None
        case "DOUBLE", int() if not isinstance(value, bool):
            return float(value)
        case "FLOAT", int() | float() if not isinstance(value, bool):
            return to_float32(value)
        case "DATE", date() if not isinstance(value, datetime):
            return day_of(value)
        case "ARRAY", list() | tuple():
            return tuple(from_python(v, type_.element) for v in value)
        case "STRUCT", dict() if set(value) == {n for n, _ in type_.parts}:
            return tuple(from_python(value[n], t) for n, t in type_.parts)
        case "DECIMAL", int() | Decimal() if not isinstance(value, bool):
            value = Decimal(value)
            value = value.quantize(Decimal(1).scaleb(-type_.scale), context=EXACT) if value.is_finite() else value
        case "TIMESTAMP", datetime():
            return instant(value)
        case "INTERVAL", timedelta():
            value = Duration(value // timedelta(microseconds=1))
        case (("TIMESTAMP" | "INTERVAL" | "DATE"), _):
            raise ValueError
    if not fits(value, type_):
        raise ValueError
    return value  # type: ignore[no-any-return]


def from_arrow(value: Any, type_: Any) -> Any:
    """A value of Arrow, which has a type of Arrow, as `to_python` gives it to a callable."""
    import pyarrow as pa  # type: ignore[import-untyped]

    if value is None:
        return None
    if pa.types.is_map(type_):
        return {from_arrow(k, type_.key_type): from_arrow(v, type_.item_type) for k, v in value}
    if pa.types.is_list(type_):
        return [from_arrow(v, type_.value_type) for v in value]
    if pa.types.is_struct(type_):
        return {field.name: from_arrow(value[field.name], field.type) for field in type_}
    if isinstance(value, datetime):
        # One of pandas has no zone: all times are UTC.
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    return value
