"""Installation: hooks in clients' settings, the nightly job, and the checks of ``kept doctor``."""
