"""The store: one SQLite file (:mod:`kept.store.sqlite`), its replica of rows on a server, and its reader for hooks.

Imports nothing, because hooks import this package and a person waits for them.
"""
