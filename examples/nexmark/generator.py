"""A seeded generator of nexmark's events: persons who join, auctions that they open, bids on them.

Of 50 events 1 is a person, 3 are auctions and 46 bids, as in the public generator; ids, prices and channels are drawn
alike, and some bids have the same time. `python generator.py --events 1000 --seed 7 --out data` writes csv files.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

COLUMNS = {
    "person": ("id", "name", "emailAddress", "creditCard", "city", "state", "dateTime", "extra"),
    "auction": (
        *("id", "itemName", "description", "initialBid", "reserve", "dateTime", "expires", "seller", "category"),
        "extra",
    ),
    "bid": ("auction", "bidder", "price", "channel", "url", "dateTime", "extra"),
}
KEYED = ("key", "value")  # the columns of q13's table
BEGIN = datetime(2024, 7, 15, 5, 59, 30, tzinfo=UTC)  # near a change of q14's time of day
SPACING = timedelta(milliseconds=250)  # about 40 events in a window of 10 seconds
FIRST_PERSON, FIRST_AUCTION, FIRST_CATEGORY = 1000, 1100, 10  # 1107 is a multiple of 123, which q2 looks for

STATES = ("AZ", "CA", "ID", "OR", "WA", "WY")
CITIES = ("Phoenix", "Los Angeles", "San Francisco", "Boise", "Portland", "Bend", "Redmond", "Seattle", "Kent")
FIRST_NAMES = ("Peter", "Paul", "Luke", "John", "Saul", "Vicky", "Kate", "Julie", "Sarah", "Deiter", "Walter")
LAST_NAMES = ("Shultz", "Abrams", "Spencer", "White", "Bartels", "Walton", "Smith", "Jones", "Noris")
CHANNELS = ("Google", "Facebook", "Baidu", "Apple")

Row = tuple[Any, ...]


def events(count: int, seed: int = 7) -> Iterator[tuple[str, Row]]:
    """The events in the order of their times, each with its kind."""
    random = Random(seed)

    def below(n: int) -> int:
        return int(random.random() * n)

    def one(values: Sequence[str]) -> str:
        return values[below(len(values))]

    def text(length: int) -> str:
        return "".join(one("abcdefghij") for _ in range(length))

    def price() -> int:
        return round(10 ** (random.random() * 6) * 100)

    persons, auctions = 0, 0
    at = BEGIN
    for k in range(count):
        # Every fifth event has the time of the one before it.
        at = at if k % 5 == 4 else at + SPACING
        place = k % 50
        if place == 0:
            name = f"{one(FIRST_NAMES)} {one(LAST_NAMES)}"
            card = " ".join(f"{below(10000):04}" for _ in range(4))
            mail = f"{name.lower().replace(' ', '.')}@{text(5)}.com"
            yield "person", (FIRST_PERSON + persons, name, mail, card, one(CITIES), one(STATES), at, text(4))
            persons += 1
        elif place <= 3:
            first = price()
            expires = at + timedelta(seconds=2 + below(20))
            # Half of the auctions are of one seller, who has more than q6 looks at.
            seller = FIRST_PERSON + (0 if random.random() < 0.5 else max(0, persons - 1 - below(3)))
            described = (FIRST_AUCTION + auctions, f"item {text(3)}", text(8), first, first + price(), at, expires)
            yield "auction", (*described, seller, FIRST_CATEGORY + below(5), text(4))
            auctions += 1
        else:
            auction = FIRST_AUCTION + max(0, auctions - 1 - below(6))
            # Most bidders have joined lately, so that the others' sessions end.
            bidder = FIRST_PERSON + (max(0, persons - 1 - below(3)) if random.random() < 0.95 else below(persons))
            channel, url = _channel(random, below, text)
            yield "bid", (auction, bidder, price(), channel, url, at, text(6))


def _channel(random: Random, below: Any, text: Any) -> tuple[str, str]:
    """A known channel, one with its number in the address, or one without."""
    page = f"https://www.nexmark.com/{text(3)}/{text(3)}/{text(3)}/item.htm?query=1"
    if random.random() < 0.5:
        return CHANNELS[below(len(CHANNELS))], page
    number = below(1000)
    return f"channel-{number}", f"{page}&channel_id={number}" if random.random() < 0.8 else page


def side_input() -> list[Row]:
    """The table of q13: a text for each key; not for all auctions there is one."""
    return [(key, f"side-{key}") for key in range(1100, 1120)]


def write(folder: Path, count: int, seed: int) -> None:
    """person.csv, auction.csv, bid.csv and side_input.csv in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    made: dict[str, list[Row]] = {kind: [] for kind in COLUMNS}
    for kind, row in events(count, seed):
        made[kind].append(row)
    for name, columns, rows in [
        *((k, COLUMNS[k], r) for k, r in made.items()),
        ("side_input", ("key", "value"), side_input()),
    ]:
        with (folder / f"{name}.csv").open("w", newline="") as file:
            out = csv.writer(file, lineterminator="\n")
            out.writerow(columns)
            out.writerows([v.isoformat() if isinstance(v, datetime) else v for v in row] for row in rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Write nexmark's events as csv files.")
    parser.add_argument("--events", type=int, default=500)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "data")
    given = parser.parse_args()
    write(given.out, given.events, given.seed)
