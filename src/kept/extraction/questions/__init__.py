"""Extraction with a model: what is asked about a conversation piece by piece, and what may be taken from the replies. Asks nobody
itself.
"""
