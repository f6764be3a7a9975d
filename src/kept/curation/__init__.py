"""Turn candidates into operations on memories: clusters, current values, merges, lifecycles, guards, a model's advice."""
