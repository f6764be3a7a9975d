"""Extraction with a model: the questions about a conversation, and what may be used of the replies. Sends nothing itself."""
