"""Continuous queries: ingest logs, numbered epochs over them, state between epochs, recovery, and sinks."""
