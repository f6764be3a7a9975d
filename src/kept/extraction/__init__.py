"""Episodes of a conversation, and the candidates that rules or a model find in them, each with the gate's verdict."""
