"""The files kept writes: compose, merge hand edits, write."""
