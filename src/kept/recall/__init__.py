"""Finding what matters for a prompt: embeddings, index, ranking, context within a budget."""
