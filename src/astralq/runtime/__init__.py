"""Continuous queries: spools of what comes in, numbered epochs over them, retained state, recovery, and sinks."""
