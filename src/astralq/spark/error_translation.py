"""Error translation: what Spark raises when a query fails, as an error in our words with a hint."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pyspark.errors import PySparkException

from astralq.errors import AstralError, EngineError, EvaluationError

_CONDITION = re.compile(r"\[([A-Z_]+(?:\.[A-Z_]+)*)\]\s*(.*?)(?:\s*SQLSTATE: \w+)?(?:\n|$)", re.DOTALL)
_HINTS = {
    "DIVIDE_BY_ZERO": "guard it: nullif(x, 0), or CASE WHEN x <> 0 THEN … END",
    "ARITHMETIC_OVERFLOW": "compute with a wider type: CAST(… AS BIGINT), or DECIMAL",
    "CAST_INVALID_INPUT": "TRY_CAST gives NULL where a text cannot be read",
    "CAST_OVERFLOW": "cast to a wider type",
    "NUMERIC_VALUE_OUT_OF_RANGE": "use a DECIMAL with more digits",
}
_OF_DATA = ("CAST", "INVALID", "DATETIME", "NUMERIC", "DECIMAL", "INTERVAL", "OVERFLOW", "ARITHMETIC", "DIVIDE", "NULL")
"""How Spark's conditions begin that are about values, and so about a query and its data, not about the engine."""

_DISK_FULL = "No space left on device"


@contextmanager
def translated_errors() -> Iterator[None]:
    """Errors that Spark raises inside become errors of ours."""
    try:
        yield
    except AstralError:
        raise
    except Exception as e:
        if not _is_of_spark(e):
            raise
        raise translate_error(e) from e


def _is_of_spark(error: Exception) -> bool:
    """What Spark raises, and what the ways to it raise: Java's gateway, and that of Spark Connect. A client has
    but one of these packages."""
    return isinstance(error, PySparkException) or any(
        c.__module__.split(".")[0] in ("py4j", "grpc") for c in type(error).__mro__
    )


def _chain(thrown: Any) -> str:
    """The messages of a Java exception and of its causes: often only a cause has the reason."""
    messages: list[str] = []
    while thrown is not None and len(messages) < 20:
        messages.append(str(thrown))
        thrown = thrown.getCause()
    return "\n".join(messages)


def translate_error(error: BaseException) -> AstralError:
    """The error of a failed query in one line, with a hint where we have one."""
    thrown = getattr(error, "java_exception", None)  # of a Py4JJavaError
    text = str(error) if thrown is None else _chain(thrown)
    if _DISK_FULL in text or _DISK_FULL in _chain(getattr(error, "_origin", None)):
        return EngineError("a disk that Spark writes to is full", hint="make room, then start again: nothing is lost")
    if "Traceback (most recent call last)" in text:
        # Of a traceback in a Python worker the last line says what went wrong.
        lines = [line for line in text.splitlines() if line.strip() and "SQLSTATE" not in line and line[:1] != "\t"]
        return EngineError(f"Spark gave up in Python: {lines[-1].strip()}")
    condition = None
    for condition in _CONDITION.finditer(text):
        if condition[1].split(".")[0] not in ("TASK_WRITE_FAILED", "FAILED_EXECUTE_UDF"):
            break
    if condition is None:
        lines = text.strip().splitlines() or [type(error).__name__]
        return EngineError(f"Spark gave up: {lines[0].strip()}")
    name, message = condition[1], " ".join(condition[2].split())
    if name == "USER_RAISED_EXCEPTION":
        return EvaluationError(message)
    # Spark proposes settings and try_ functions of its own, which are not part of the query language.
    known = name.split(".")[0]
    kind = EvaluationError if known in _HINTS or known.startswith(_OF_DATA) else EngineError
    reason = re.split(r"\s(?:Use `try_|If necessary set|Correct the value)", message)[0]
    return kind(reason, hint=_HINTS.get(known))
