"""A store whose rows lie on a server, with the whole of them on this machine too: what is read is read here."""
