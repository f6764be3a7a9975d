"""Adapters for agent frameworks, one module each. A module needs its framework, which the extra of the same name installs."""
