"""The archive: cleaned turns, compressed, immutable but for forget."""
