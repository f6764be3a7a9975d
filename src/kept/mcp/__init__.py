"""``kept mcp``: memory as tools, resources and prompts for any agent, over stdio or (on this machine only) HTTP.

Every call opens the workspace again, so the server keeps no state and sees changes by runs and people. Results are marked as data.
Tools only read or propose. A proposal is held for the person, unless the settings trust agents.
"""

from kept.mcp.server import create_server, serve

__all__ = ["create_server", "serve"]
