"""For the site only: examples in docstrings (>>> …) become blocks of code, which they are not in Markdown."""

from __future__ import annotations

import re
from typing import Any

import griffe

_EXAMPLE = re.compile(r"^>>> .*(?:\n(?!\s*$).*)*", re.MULTILINE)


class Examples(griffe.Extension):
    """Fences every paragraph that begins with >>>."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = _EXAMPLE.sub(lambda m: f"```pycon\n{m[0]}\n```", obj.docstring.value)
