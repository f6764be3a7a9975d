"""``python -m kept``: the same front door as the ``kept`` command."""

from kept.ui.cli import main

main()
