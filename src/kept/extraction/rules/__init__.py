"""Rules that find candidates without a model."""
