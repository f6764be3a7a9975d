"""Turns candidates into operations: clusters, current values, merges, lifecycles, guards, a model's advice."""
