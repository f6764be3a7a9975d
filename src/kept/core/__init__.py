"""The domain model as frozen values, and the pure fold of operations into memories.

No input or output: nothing here knows files, databases, transcript formats, clocks or models.
"""
