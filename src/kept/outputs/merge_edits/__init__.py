"""Find what a person changed in a file since it was last written, and restore their own lines when it is rewritten.

Uses neither the store nor the file on disk, and does not interpret the edits.
"""
