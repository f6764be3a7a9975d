"""The words of kept as frozen values, and the pure fold of operations into memories.

Standard library only. Knows nothing of files, databases, formats, clocks or models.
"""
