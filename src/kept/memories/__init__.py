"""What a person does with memories: edit, review, history, undo, erase, export, import."""
