"""What a person did to a file since it was last written, and their own lines put back when it is written anew.

Nothing here knows the store, the file on disk, or what the edits will do to memories.
"""
