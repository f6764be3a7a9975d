"""Ask a language model: adapters, retries, budget, usage, stored replies."""
