"""Pure functions from values to values: no input or output, no clock, no network, no randomness; none imports another."""
