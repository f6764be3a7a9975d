"""What hooks can afford to import in place of modules of the standard library that take long to import."""
