"""``python -m kept`` runs the ``kept`` command."""

from kept.cli import main

main()
