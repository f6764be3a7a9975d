"""Erasure: find every place that contains the words to be forgotten, erase them there, and prove that nothing remains."""
