"""What each output says: the memory file and the card, the notes of days, the knowledge pages and what
ties them together, and why a memory is where it is.

Pure: memories and profiles in, documents out. Knows no file, no store and nothing of what stood there before.
"""
