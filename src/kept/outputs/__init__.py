"""The files that kept writes: compose their content, merge hand edits, and write them."""
