"""Adapters to language models. Each module is one and follows the protocol :class:`kept.llm.adapter.AdapterModule`.

They are a program, two vendors' APIs, Ollama, a script and a recording. An adapter asks once and returns the result. The modules
above it retry, store replies, add up costs and check replies.
"""
