"""Extraction with a model: the questions about a conversation, and the checks of the replies. Sends nothing itself."""
