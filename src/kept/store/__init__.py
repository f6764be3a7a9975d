"""Stores: what they must do (:mod:`kept.store.protocol`), the one in SQLite, and its reader for hooks. Imports nothing: a hook
waits.
"""
