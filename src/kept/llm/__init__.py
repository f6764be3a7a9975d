"""Asking a language model: adapters, retries, budget, usage, the memory of replies."""
