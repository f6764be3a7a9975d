"""Erasure: finds every place that holds what is to be forgotten, erases it there, and proves that nothing remains."""
