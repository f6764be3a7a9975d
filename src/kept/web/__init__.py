"""``kept web``: memories in the browser, served on the loopback interface. It calls the same use cases as the command line.

``pages`` has one module for each page, ``api`` one for each area of the API. Pages only read. All changes go through the API.
"""

from kept.web.server import create_app, open_socket, serve

__all__ = ["create_app", "open_socket", "serve"]
