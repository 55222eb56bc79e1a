"""Plans in a notebook: the tree of operators as HTML that needs nothing from elsewhere."""

from __future__ import annotations

from html import escape

from astralq.algebra.base import Kind, Operator

_COLORS = {Kind.STREAM: "#0072B2", Kind.RELATION: "#007a59", Kind.WINDOWS: "#b45309"}
"""Dark enough to be read on white, and told apart by colour-blind readers; the kind is written beside them too."""

_LIST = "list-style:none;margin:0;padding:0 0 0 1.1em;border-left:1px solid #b9b9b9"
_ITEM = "margin:0;padding:1px 0 1px 0.5em"


def plan_html(op: Operator) -> str:
    """An operator and those below it, each with its kind and attributes.

    >>> from astralq import stream
    >>> "STREAM S" in plan_html(stream("S", "v INT").operator)
    True
    """
    return f'<div style="font-family:monospace;line-height:1.5">{_node(op)}</div>'


def _node(op: Operator) -> str:
    label, schema = escape(op.label), escape(str(op.schema))
    text = (
        f'<span style="font-weight:bold">{label}</span> '
        f'<span style="color:{_COLORS[op.kind]};padding-left:1em">{escape(op.kind.value)}</span> '
        f'<span style="opacity:0.65">({schema})</span>'
    )
    if not op.children:
        return text
    below = "".join(f'<li style="{_ITEM}">{_node(c)}</li>' for c in op.children)
    return f'{text}<ul style="{_LIST}">{below}</ul>'
