"""Extraction with a model: build the questions about a conversation, and check the replies. Sends nothing."""
