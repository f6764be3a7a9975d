"""The main job and the nightly job, as readable lists of steps."""
