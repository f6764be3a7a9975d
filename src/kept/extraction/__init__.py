"""Episodes of a conversation, and the candidates that rules or a model find in them, with what the gate says of each."""
