"""Scores of extraction and search on public data sets and annotated transcripts."""
