"""The pages of docs/: every block of the query language can be read, and prints back as itself."""

from __future__ import annotations

import re
from pathlib import Path

from astralq.language import read_script
from astralq.language.printer import print_script

PAGE = Path(__file__).parent.parent / "docs" / "language.md"


def blocks() -> list[str]:
    return re.findall(r"```sql\n(.*?)```", PAGE.read_text(), re.DOTALL)


def test_every_statement_of_the_language_page_can_be_read() -> None:
    text = re.sub(r"--.*", "", "\n".join(blocks()))
    written = re.findall(r"^(?:SELECT|ISTREAM|DSTREAM|RSTREAM|WITH|INSERT)\b", text, re.MULTILINE)
    assert len(read_script(text).queries) == len(written) > 40


def test_every_query_of_the_language_page_prints_back_as_itself() -> None:
    for query in read_script("\n".join(blocks())).queries:
        again = read_script(print_script(query.operator, query.t0)).queries[0]
        assert again.operator == query.operator, print_script(query.operator, query.t0)
        assert again.t0 == query.t0
