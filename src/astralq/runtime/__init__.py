"""Continuous queries: ingest logs of what comes in, numbered epochs over them, retained state, recovery, and sinks."""
