"""Whatever the text is, it is a script or an error that says what is wrong: never another exception."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from astralq.errors import AstralError
from astralq.language import Script, read_script
from tests.language.support import DECLARED
from tests.language.test_examples import FILES
from tests.language.test_queries import SAME
from tests.language.test_windows import FORMS, PARTITIONED, SPATIAL

DIALECTS = st.sampled_from(("astral", "cql", "sneeql"))
VALID = [
    *(f.read_text() for f in FILES),
    *(f"{DECLARED}\n{q};" for q in SAME),
    *(f"{DECLARED}\nSELECT * FROM s {w};" for w in FORMS),
    *(f"{DECLARED}\nSELECT * FROM k {w};" for w in PARTITIONED),
    *(f"{DECLARED}\nSELECT * FROM car {w};" for w in SPATIAL),
]
TOKEN = re.compile(r"\s+|\w+|'[^']*'|.", re.DOTALL)
WORDS = sorted({t for text in VALID for t in TOKEN.findall(text) if not t.isspace()})


def is_read_or_refused(text: str, dialect: str) -> bool:
    try:
        return isinstance(read_script(text, dialect), Script)
    except AstralError as e:
        return bool(str(e))


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """A valid script with up to three of its tokens deleted, doubled, replaced, swapped or followed by another one."""
    tokens = TOKEN.findall(draw(st.sampled_from(VALID)))
    for _ in range(draw(st.integers(1, 3))):
        i, j = (draw(st.integers(0, len(tokens) - 1)) for _ in range(2))
        match draw(st.sampled_from(("delete", "double", "replace", "swap", "insert", "cut"))):
            case "delete":
                tokens[i] = ""
            case "double":
                tokens[i] += " " + tokens[i]
            case "replace":
                tokens[i] = draw(st.sampled_from(WORDS))
            case "swap":
                tokens[i], tokens[j] = tokens[j], tokens[i]
            case "insert":
                tokens[i] += " " + draw(st.sampled_from(WORDS)) + " "
            case _:
                tokens[i:] = [""]
    return "".join(tokens)


@given(st.text(), DIALECTS)
def test_any_text_is_read_or_refused(text: str, dialect: str) -> None:
    assert is_read_or_refused(text, dialect)


@given(st.lists(st.sampled_from(WORDS), max_size=12), DIALECTS)
def test_any_words_of_the_language_are_read_or_refused(words: list[str], dialect: str) -> None:
    assert is_read_or_refused(f"{DECLARED}\n{' '.join(words)}", dialect)


@given(st.lists(st.sampled_from(WORDS), max_size=8), DIALECTS)
def test_any_words_in_the_brackets_of_a_window_are_read_or_refused(words: list[str], dialect: str) -> None:
    assert is_read_or_refused(f"{DECLARED}\nSELECT * FROM s [{' '.join(words)}];", dialect)


@given(mutated(), DIALECTS)
def test_a_mutated_query_is_read_or_refused(text: str, dialect: str) -> None:
    assert is_read_or_refused(text, dialect)


@given(st.sampled_from(VALID), st.sampled_from(("(", "SELECT * FROM (", "NOT ", "-", "ISTREAM(")), st.integers(1, 3000))
def test_a_deeply_nested_query_is_read_or_refused(text: str, opening: str, depth: int) -> None:
    assert is_read_or_refused(text + opening * depth, "astral")
