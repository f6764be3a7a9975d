"""What a person did to a file since it was last written, and their own lines put back when it is written anew.

Nothing here knows the store, the file on disk, or what the edits will do to memories.
"""

from kept.outputs.merge_edits.edits import find_edits, locate_lines, restore_user_lines, unchanged_edits
from kept.outputs.merge_edits.match import is_fact

__all__ = ["find_edits", "is_fact", "locate_lines", "restore_user_lines", "unchanged_edits"]
