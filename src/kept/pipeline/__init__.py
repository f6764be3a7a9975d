"""The main job and the nights, as a readable list of steps."""
