"""One module or package per transcript format."""
