"""Write an entry: select its items within bounds, compose it with or without a model, and render it as a file."""
