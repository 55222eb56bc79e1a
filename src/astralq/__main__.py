"""`python -m astralq` is the command `astralq`."""

from astralq.cli import main

main()
