"""Day notes: summaries of sessions, and what was recently worked on."""
