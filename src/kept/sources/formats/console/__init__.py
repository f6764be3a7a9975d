"""Saved screens of Claude Code and Codex."""
