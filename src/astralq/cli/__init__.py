"""The command line: `astralq run` answers the queries of a file, `astralq explain` shows their plans."""

from astralq.cli.app import main

__all__ = ["main"]
