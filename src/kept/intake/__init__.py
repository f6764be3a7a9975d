"""Bring events into the archive: discovery, reading, cleaning, identity of projects."""
