"""Events into the archive: discovery, reading, cleaning, identity of projects."""
