"""A small invented set of sessions, for a first look where there are none of your own."""
