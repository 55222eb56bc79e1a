"""The command line. Its parts are imported when it is called, so that Ctrl-C is heard from the first moment on."""

__all__ = ["main"]


def main() -> None:
    """What the command `astralq` does. Ctrl-C ends it with the status that shells know, 128 + SIGINT, and silently."""
    import signal
    import sys

    try:
        from astralq.cli.app import command

        command()
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
    finally:
        # CPython notes an interrupt that has passed through an exec, as dataclasses use it, and would later end by the
        # signal instead of with a status. The next exec takes the note away.
        exec("")
        # All that is left is going home: an impatient second Ctrl-C ends that too, without a word.
        if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
