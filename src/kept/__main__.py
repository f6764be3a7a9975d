"""``python -m kept``: the same front door as the ``kept`` command."""

from kept.cli import main

main()
