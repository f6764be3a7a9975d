"""Use cases: the only place where stages meet adapters. Front doors call these and nothing below them."""
