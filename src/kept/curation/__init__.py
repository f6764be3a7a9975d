"""Candidates into operations: clusters, one current value, merges, lifecycles, guards, a model's advice."""
