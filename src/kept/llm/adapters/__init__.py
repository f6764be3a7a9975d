"""Adapters to language models, all with the protocol :class:`kept.llm.adapters.base.Model`.

They are a program, two vendors' APIs, Ollama, a script and a recording. An adapter asks once and returns the result. The modules
above it retry, store replies, add up costs and check replies.
"""
