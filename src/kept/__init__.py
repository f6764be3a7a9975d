"""kept: a small, curated, inspectable memory out of what people and agents already wrote down."""

__version__ = "0.1.0"
