"""Stores: the protocol (:mod:`kept.store.protocol`), the SQLite store, and its reader for hooks.

Imports nothing, because hooks import this package and a person waits for them.
"""
