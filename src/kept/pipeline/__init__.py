"""The main job and the nightly job, each as a list of steps."""
