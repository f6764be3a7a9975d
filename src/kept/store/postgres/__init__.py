"""The PostgreSQL server of a shared store."""
