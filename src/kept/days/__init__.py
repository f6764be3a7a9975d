"""Day notes: summaries of sessions, and recent work."""
