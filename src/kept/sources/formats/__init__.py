"""One module a transcript format."""
