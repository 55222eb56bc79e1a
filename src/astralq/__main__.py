"""`python -m astralq` is the command `astralq`."""

from astralq.cli.app import main

main()
