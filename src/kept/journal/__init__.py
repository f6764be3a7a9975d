"""The journal: entries, external feeds, templates, backfill."""
