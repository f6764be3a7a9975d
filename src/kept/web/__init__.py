"""``kept web``: what is remembered, in the browser. Loopback only; thin over the same use cases as the command line.

One module per page below ``pages``, one per area of the API below ``api``; pages only read, every change goes through the API.
"""

from kept.web.server import create_app, open_socket, serve

__all__ = ["create_app", "open_socket", "serve"]
