"""Adapters for frameworks of agents, one module each; importing one needs that framework (extras of the same name)."""
