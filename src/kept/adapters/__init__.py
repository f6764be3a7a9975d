"""The outside world: transcript formats, the store, files. Siblings never import each other."""
