"""Access to this machine: files and locks, settings, queues that hooks fill, git checkouts, folders of clients."""
