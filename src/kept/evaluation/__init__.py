"""Scores on public sets and annotated transcripts."""
