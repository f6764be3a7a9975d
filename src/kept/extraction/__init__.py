"""Split conversations into episodes and find candidates in them, by rules or by a model. The gate judges each candidate."""
