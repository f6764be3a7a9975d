"""The server of a shared store: PostgreSQL."""
