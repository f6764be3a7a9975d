"""A person's actions on memories: edit, review, history, undo, erase, export, import."""
