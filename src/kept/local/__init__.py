"""This machine: files and locks, settings, queues that hooks leave, git checkouts, paths of clients."""
