"""The command line. One table of commands; the modules behind it are imported only when their command is called."""

from kept.ui.cli.door import main

__all__ = ["main"]
