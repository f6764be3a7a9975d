"""Compose the content of each output: the memory file, the card, day notes, knowledge pages and the graph.

The modules also find out why a memory appears where it does. They are pure: they take memories and profiles and return documents.
They read neither a file nor the store, and do not know the previous content of an output.
"""
