"""What a person did to a file since it was last written, and their own lines put back when it is written anew.

``absorb`` reads the edits, ``weave`` keeps the user's part, ``places`` tells which lines say what. None of them knows the store,
the file on disk, or what the edits will do to memories.
"""

from kept.outputs.merge_edits.edits import find_edits, locate_lines, unchanged_edits
from kept.outputs.merge_edits.there import is_fact
from kept.outputs.merge_edits.weave import restore_user_lines

__all__ = ["find_edits", "is_fact", "locate_lines", "restore_user_lines", "unchanged_edits"]
