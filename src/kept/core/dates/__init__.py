"""Dates as people write and say them. Pure."""
