"""Find what a person changed in a file since it was last written, and restore their own lines when it is rewritten.

Knows neither the store nor the file on disk, nor what the edits mean for memories.
"""
