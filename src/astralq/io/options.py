"""What a source's reader is told: Spark ignores a misspelt option silently, here it is an error."""

from __future__ import annotations

import codecs

from astralq.algebra.sources import FOLLOWING, Origin
from astralq.errors import DataError, nearest

LISTING = ("pathGlobFilter", "recursiveFileLookup", "modifiedBefore", "modifiedAfter")
"""Options that change which files of a path are read: with one of them Spark lists the files."""

MISSING = "missingColumns"
"""Our own option: whether an attribute that a file has no column for is NULL there, or an error."""

_FILES = (
    MISSING,
    *LISTING,
    *("ignoreCorruptFiles", "ignoreMissingFiles", "mergeSchema", "inferSchema", "basePath", "compression"),
    *("maxFilesPerTrigger", "maxBytesPerTrigger", "latestFirst", "fileNameOnly", "maxFileAge", "cleanSource"),
    "sourceArchiveDir",
)
_OPTIONS = {
    "csv": (
        *("header", "sep", "delimiter", "nullValue", "quote", "escape", "comment", "encoding", "charset", "multiLine"),
        *("ignoreLeadingWhiteSpace", "ignoreTrailingWhiteSpace", "emptyValue", "timestampFormat", "lineSep", "mode"),
        "dateFormat",
        *("maxColumns", "maxCharsPerColumn", "charToEscapeQuoteEscaping", "unescapedQuoteHandling", "enforceSchema"),
        "samplingRatio",
    ),
    "json": (
        *("encoding", "charset", "multiLine", "lineSep", "mode", "timestampFormat", "dateFormat", "allowComments"),
        "samplingRatio",
        *("allowUnquotedFieldNames", "allowSingleQuotes", "allowNumericLeadingZeros", "allowNonNumericNumbers"),
        *("allowBackslashEscapingAnyCharacter", "allowUnquotedControlChars", "primitivesAsString", "prefersDecimal"),
        "dropFieldIfAllNull",
    ),
    "parquet": ("datetimeRebaseMode", "int96RebaseMode"),
}
_INEFFECTIVE = {
    "csv": ("nanValue", "positiveInf", "negativeInf", "timestampNTZFormat", "locale"),
    "json": ("timestampNTZFormat", "locale"),
    "parquet": (),
}
"""Options of Spark's own casts. Values are read as text and cast as CAST does, so these would do nothing."""
_JDBC = (
    *("url", "dbtable", "query", "prepareQuery", "driver", "user", "password", "partitionColumn", "lowerBound"),
    *("upperBound", "numPartitions", "queryTimeout", "fetchsize", "sessionInitStatement", "customSchema"),
    *("pushDownPredicate", "pushDownAggregate", "pushDownLimit", "pushDownOffset", "pushDownTableSample", "keytab"),
    *("principal", "refreshKrb5Config", "connectionProvider", "preferTimestampNTZ", "hint", "dialect"),
)
_CHARSETS = {
    "utf-8": "UTF-8",
    "ascii": "US-ASCII",
    "iso8859-1": "ISO-8859-1",
    "utf-16": "UTF-16",
    "utf-16-be": "UTF-16BE",
    "utf-16-le": "UTF-16LE",
    "utf-32": "UTF-32",
}
"""Spark's encodings by Python's names for them."""


def check_option_names(origin: Origin, source: str) -> None:
    """Every option is one that the reader takes; settings of a file system (`fs.s3a.…`) go through.

    >>> check_option_names(Origin("csv", "r.csv", (("headr", "true"),)), "relation r")
    Traceback (most recent call last):
    astralq.errors.DataError: relation r: the csv option 'headr' is not one of Spark's
      hint: did you mean 'header'?
    """
    known = _JDBC if origin.format == "jdbc" else (*_OPTIONS.get(origin.format, ()), *_FILES)
    lower = {k.lower() for k in (*known, *FOLLOWING)}
    for name, _ in origin.options:
        if name.lower() in lower or "." in name:
            continue
        if name.lower() in map(str.lower, _INEFFECTIVE.get(origin.format, ())):
            raise DataError(
                f"{source}: the {origin.format} option {name!r} would do nothing, as values are read by CAST",
                hint="leave it out, or declare the attribute STRING and convert it in the query",
            )
        hint = nearest(name, known)
        if origin.format != "jdbc" or hint is not None:  # what Spark does not know is for the database's driver
            raise DataError(
                f"{source}: the {origin.format} option {name!r} is not one of Spark's",
                hint=hint or f"it knows {', '.join(known)}",
            )


PATTERNS = {"TIMESTAMP": "timestampFormat", "DATE": "dateFormat"}
"""The options that say how times and dates are written, by the types that they are for."""


def patterns_of(origin: Origin) -> dict[str, str]:
    """How times and dates are written, by type; as CAST reads them where there is no pattern."""
    return {type_: found for type_, option in PATTERNS.items() if (found := origin.option(option, ""))}


def flag(origin: Origin, name: str) -> bool:
    """An option that is true or false."""
    found = origin.option(name, "false").strip().lower()
    if found not in ("true", "false"):
        raise DataError(f"the option {name!r} is {found!r}", hint="give 'true' or 'false'")
    return found == "true"


def may_lack_columns(origin: Origin) -> bool:
    """Whether attributes are NULL in the rows of a file that has no column for them."""
    found = origin.option(MISSING, "error").strip().lower()
    if found not in ("null", "error"):
        raise DataError(f"the option {MISSING!r} is {found!r}", hint="give 'null', or leave it out")
    return found == "null"


def given(origin: Origin, *left_out: str) -> dict[str, str]:
    """The options to pass on, without some of them."""
    dropped = {n.lower() for n in left_out}
    return {k: v for k, v in origin.options if k.lower() not in dropped}


def charset(origin: Origin) -> str:
    """The encoding by Spark's name for it."""
    name = origin.option("encoding", "utf-8")
    try:
        found = codecs.lookup(name).name
    except LookupError:
        raise DataError(f"{origin.path}: unknown encoding {name!r}", hint="for example 'utf-8'") from None
    if found not in _CHARSETS:
        raise DataError(f"{origin.path}: Spark does not read the encoding {name!r}", hint="write the files in utf-8")
    if found.startswith(("utf-16", "utf-32")) and origin.option("multiLine", "false").strip().lower() != "true":
        hint = "OPTIONS (multiLine = 'true'), or write the files in utf-8"
        raise DataError(f"{origin.path}: Spark does not find the lines of {name} text", hint=hint)
    return _CHARSETS[found]
