"""Find memories relevant to a prompt: embeddings, full-text index, ranking, and a context block within a token budget."""
