"""What becomes a candidate without a model, by rules."""
