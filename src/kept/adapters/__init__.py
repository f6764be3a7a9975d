"""Adapters for agent frameworks, one module each; importing one needs that framework (extras of the same name)."""
