"""The journal: entries, their templates, and external feeds."""
