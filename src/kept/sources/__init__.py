"""Transcripts on disk: where they are, their formats, and their records as events."""
