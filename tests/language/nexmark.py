"""What the nexmark queries answer, in DuckDB's SQL: over all events up to an instant, and windows that are over then.

Streams are compared as bags of rows; of relations it is the state at the instant.
"""

from __future__ import annotations

_RANKS = """
    count(*) AS total_bids,
    count(*) FILTER (price < 10000), count(*) FILTER (price >= 10000 AND price < 1000000),
    count(*) FILTER (price >= 1000000)
"""
_PEOPLE = """
    count(DISTINCT bidder), count(DISTINCT bidder) FILTER (price < 10000),
    count(DISTINCT bidder) FILTER (price >= 10000 AND price < 1000000),
    count(DISTINCT bidder) FILTER (price >= 1000000),
    count(DISTINCT auction), count(DISTINCT auction) FILTER (price < 10000),
    count(DISTINCT auction) FILTER (price >= 10000 AND price < 1000000),
    count(DISTINCT auction) FILTER (price >= 1000000)
"""
_MET = "A.id = B.auction AND B.dateTime BETWEEN A.dateTime AND A.expires"
_ID = r"regexp_extract(url, '(&|^)channel_id=([^&]*)', 2)"
_KNOWN = "lower(channel) IN ('apple', 'google', 'facebook', 'baidu')"


def _tumbled(table: str, columns: str) -> str:
    """Rows of windows of 10 seconds that are over, with their starts."""
    return f"""SELECT {columns}, dateTime - dateTime % 10000000 AS start FROM {table}
               WHERE dateTime - dateTime % 10000000 + 10000000 <= getvariable('until')"""


_HOPPED = """
    SELECT auction, ends, count(*) AS num FROM (
        SELECT *, unnest(range(dateTime - dateTime % 2000000 + 2000000, dateTime + 10000001, 2000000)) AS ends
        FROM bid)
    WHERE ends - 10000000 <= dateTime AND dateTime < ends AND ends <= getvariable('until') GROUP BY auction, ends
"""
_SESSIONS = """
    SELECT bidder, count(*) AS n, min(dateTime) AS start, max(dateTime) AS last FROM (
        SELECT *, sum(begins) OVER (PARTITION BY bidder ORDER BY dateTime RANGE UNBOUNDED PRECEDING) AS session FROM (
            SELECT *, CASE WHEN dateTime - lag(dateTime) OVER (PARTITION BY bidder ORDER BY dateTime) < 10000000 THEN 0
                           ELSE 1 END AS begins FROM bid))
    GROUP BY bidder, session HAVING last + 10000000 <= getvariable('until')
"""

ANSWERS = {
    0: "SELECT auction, bidder, price, dateTime, extra FROM bid",
    1: "SELECT auction, bidder, 0.908 * price, dateTime, extra FROM bid",
    2: "SELECT auction, price FROM bid WHERE auction % 123 = 0",
    3: """SELECT name, city, state, A.id FROM auction A JOIN person P ON seller = P.id
          WHERE category = 10 AND state IN ('OR', 'ID', 'CA')""",
    4: f"""SELECT category, avg(final) FROM (
             SELECT max(price) AS final, category FROM auction A, bid B WHERE {_MET} GROUP BY A.id, category)
           GROUP BY category""",
    5: f"""WITH counts AS ({_HOPPED})
           SELECT auction, num FROM counts c WHERE num = (SELECT max(num) FROM counts WHERE ends = c.ends)""",
    6: f"""SELECT seller, arg_max(average, place) FROM (
             SELECT seller, row_number() OVER (PARTITION BY seller ORDER BY dateTime) AS place,
               avg(price) OVER (PARTITION BY seller ORDER BY dateTime ROWS 10 PRECEDING) AS average
             FROM (SELECT A.id, seller, price, B.dateTime FROM auction A, bid B WHERE {_MET}
                   QUALIFY row_number() OVER (PARTITION BY A.id ORDER BY price DESC) = 1))
           GROUP BY seller""",
    7: f"""WITH t AS ({_tumbled("bid", "*")}) SELECT auction, bidder, price, dateTime, extra FROM t
           WHERE price = (SELECT max(price) FROM t o WHERE o.start = t.start)""",
    8: f"""SELECT DISTINCT P.id, P.name, P.start FROM ({_tumbled("person", "*")}) P
           JOIN ({_tumbled("auction", "*")}) A ON P.id = A.seller AND P.start = A.start""",
    9: f"""SELECT A.*, B.auction, B.bidder, B.price, B.dateTime, B.extra FROM auction A, bid B WHERE {_MET}
           QUALIFY row_number() OVER (PARTITION BY A.id ORDER BY B.price DESC, B.dateTime) = 1""",
    10: """SELECT auction, bidder, price, dateTime, extra, strftime(make_timestamp(dateTime), '%Y-%m-%d'),
             strftime(make_timestamp(dateTime), '%H:%M') FROM bid""",
    11: f"SELECT bidder, n, start, last + 10000000 FROM ({_SESSIONS})",
    12: f"SELECT bidder, count(*), start, start + 10000000 FROM ({_tumbled('bid', 'bidder')}) GROUP BY bidder, start",
    13: "SELECT auction, bidder, price, dateTime, value FROM bid JOIN side_input ON auction % 10000 = key",
    14: """SELECT auction, bidder, 0.908 * price,
             CASE WHEN hour(make_timestamp(dateTime)) BETWEEN 8 AND 18 THEN 'dayTime'
                  WHEN hour(make_timestamp(dateTime)) BETWEEN 7 AND 19 THEN 'otherTime' ELSE 'nightTime' END,
             dateTime, extra, length(extra) - length(replace(extra, 'c', ''))
           FROM bid WHERE 0.908 * price > 1000000 AND 0.908 * price < 50000000""",
    15: f"SELECT strftime(make_timestamp(dateTime), '%Y-%m-%d') AS day, {_RANKS}, {_PEOPLE} FROM bid GROUP BY day",
    16: f"""SELECT channel, strftime(make_timestamp(dateTime), '%Y-%m-%d') AS day,
             max(strftime(make_timestamp(dateTime), '%H:%M')), {_RANKS}, {_PEOPLE} FROM bid GROUP BY channel, day""",
    17: f"""SELECT auction, strftime(make_timestamp(dateTime), '%Y-%m-%d') AS day, {_RANKS},
             min(price), max(price), avg(price), sum(price)::BIGINT FROM bid GROUP BY auction, day""",
    18: """SELECT auction, bidder, price, channel, url, dateTime, extra FROM bid
           QUALIFY row_number() OVER (PARTITION BY bidder, auction ORDER BY dateTime DESC, place) = 1""",
    19: """SELECT auction, bidder, price, channel, url, dateTime, extra,
             row_number() OVER (PARTITION BY auction ORDER BY price DESC, place) AS rank FROM bid
           QUALIFY rank <= 10""",
    20: """SELECT B.auction, B.bidder, B.price, B.channel, B.url, B.dateTime, B.extra, A.itemName, A.description,
             A.initialBid, A.reserve, A.dateTime, A.expires, A.seller, A.category, A.extra
           FROM bid B JOIN auction A ON B.auction = A.id WHERE A.category = 10""",
    21: f"""SELECT auction, bidder, price, channel, CASE lower(channel) WHEN 'apple' THEN '0' WHEN 'google' THEN '1'
             WHEN 'facebook' THEN '2' WHEN 'baidu' THEN '3' ELSE {_ID} END FROM bid WHERE {_ID} <> '' OR {_KNOWN}""",
    22: """SELECT auction, bidder, price, channel, split_part(url, '/', 4), split_part(url, '/', 5),
             split_part(url, '/', 6) FROM bid""",
}
"""By the number of the query; the columns are the query's own, times in microseconds."""
