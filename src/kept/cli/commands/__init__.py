"""One module per command or family of commands: parse, call one use case, print, exit."""
