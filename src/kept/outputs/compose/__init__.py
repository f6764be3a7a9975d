"""Compose the content of each output: the memory file and the card, day notes, knowledge pages, the graph; and why a memory appears
where it does.

Pure: memories and profiles in, documents out. Knows no file, no store and no previous content.
"""
