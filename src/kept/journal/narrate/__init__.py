"""Narrating: what a day is told with, within its bounds; the entry without a model, or by one; and the entry as a file."""

from kept.journal.narrate.page import (
    is_entry_edited,
    parse_entry_head,
    render_entry,
    self_reference_share,
    template_slots,
    update_digest,
)
from kept.journal.narrate.prose import PURPOSE, ContextBounds, ItemSelection, build_prose_ask, read_prose_reply, select_items

__all__ = [
    "PURPOSE",
    "ContextBounds",
    "ItemSelection",
    "build_prose_ask",
    "is_entry_edited",
    "parse_entry_head",
    "read_prose_reply",
    "render_entry",
    "select_items",
    "self_reference_share",
    "template_slots",
    "update_digest",
]
