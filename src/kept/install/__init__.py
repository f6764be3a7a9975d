"""Clients' settings, hooks, the nightly schedule, and the doctor."""
