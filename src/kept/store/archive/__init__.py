"""The archive: cleaned events in compressed blocks, immutable except for erasure."""
