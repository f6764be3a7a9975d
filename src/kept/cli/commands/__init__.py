"""One module a command (or a family of commands): parse, call one use case, print, exit."""
