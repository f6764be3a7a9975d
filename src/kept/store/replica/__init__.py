"""A store whose rows are on a server, with a full replica on this machine. All reads are local."""
