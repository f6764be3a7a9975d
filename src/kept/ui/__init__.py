"""Front doors: thin ways in. Each one calls use cases and turns what they return into what its user reads."""
