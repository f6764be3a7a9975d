"""Transcripts as they lie on disk: where they are, what format they are of, and their records as events."""
