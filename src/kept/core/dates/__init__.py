"""Parses dates and time spans as people write and say them."""
