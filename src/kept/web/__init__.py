"""``kept web``: memories in the browser. It serves the loopback interface only and calls the same use cases as the command line.

``pages`` has one module per page, ``api`` one per area of the API. Pages only read; every change goes through the API.
"""

from kept.web.server import create_app, open_socket, serve

__all__ = ["create_app", "open_socket", "serve"]
