"""``kept mcp``: memory as tools, resources and prompts for any agent, over stdio or, on this machine only, over HTTP.

Every call opens the workspace anew: the server holds nothing, and sees what a run or a person changed meanwhile. What it returns is
marked as remembered data. It reads; what an agent adds waits for the person unless the settings trust agents.
"""

from kept.mcp.server import create_server, serve

__all__ = ["create_server", "serve"]
