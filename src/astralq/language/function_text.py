"""The declaration of a Python function as text, for the printer."""

from __future__ import annotations

from astralq.callables import PythonFunction
from astralq.errors import PlanError
from astralq.expr.nodes import literal_text, quoted
from astralq.schema import STRING


def function_text(function: PythonFunction) -> str:
    """CREATE FUNCTION, which reads back as the function."""
    if function.parameters is None or not function.path:
        raise PlanError(
            f"the function {function.name} was given in Python", hint="declare it with CREATE FUNCTION to print it"
        )
    kind = "AGGREGATE FUNCTION" if function.aggregate else "FUNCTION"
    text = f"CREATE {kind} {quoted(function.name)} ({', '.join(map(str, function.parameters))})"
    text += f" RETURNS {function.result} AS python {literal_text(function.path, STRING)}"
    return f"{text} DETERMINISTIC" if function.deterministic else text
