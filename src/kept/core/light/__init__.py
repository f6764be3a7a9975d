"""Fast replacements, for hooks, of modules of the standard library that take long to import."""
