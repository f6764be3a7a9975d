"""Narrating: what a day is told with, within its bounds; the entry without a model, or by one; and the entry as a file."""
