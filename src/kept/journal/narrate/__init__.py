"""Select the context of an entry within bounds, write the entry with a model, and render it as a file."""
