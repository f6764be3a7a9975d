"""Adapters to language models: each module is one, as :class:`kept.llm.adapter.AdapterModule` describes.

They are a program, two vendors' APIs, Ollama, a script and a recording. An adapter asks once and returns the result. The modules
above it retry, store replies, add up costs and check replies.
"""
