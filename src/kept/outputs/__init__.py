"""The files that kept writes: compose, merge hand edits, write."""
