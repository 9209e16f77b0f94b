"""A small app by Python's own servers that knows nothing of a prefix: for `rewrite`."""

import http.server
import os
import sys
from wsgiref import simple_server

PAGE = b'<a href="account/">mine</a> <link href="/static/app.css">'


def app(environ, start_response):
    """Says what it was asked for, in the headers, and answers as apps at the root of a host do."""
    path = environ["PATH_INFO"]
    seen = [
        ("Seen-Path", path),
        ("Seen-Cookie", environ.get("HTTP_COOKIE", "")),
        ("Seen-Prefix", environ.get("HTTP_X_FORWARDED_PREFIX", "")),
    ]
    if path == "/":
        start_response("200 OK", [*seen, ("Content-Type", "text/html"), ("Set-Cookie", "theme=dark; Path=/")])
        return [PAGE]
    if path == "/login":
        cookie = ("Set-Cookie", "sid=1; Path=/account; HttpOnly")
        start_response("303 See Other", [*seen, ("Location", "/account/"), cookie])
    elif path == "/moved":
        start_response("302 Found", [*seen, ("Location", f"http://{environ['HTTP_HOST']}/account/?a=b")])
    elif path == "/away":
        start_response("302 Found", [*seen, ("Location", "https://elsewhere.example.org/account/")])
    elif path == "/account/":
        start_response("200 OK", [*seen, ("Content-Type", "text/plain")])
    else:
        start_response("404 Not Found", seen)
    return [b""]


class Quiet(simple_server.WSGIRequestHandler):
    """Says nothing of requests."""

    def log_message(self, *_):
        pass


class Files(http.server.SimpleHTTPRequestHandler):
    """Serves a folder, as `python3 -m http.server` does."""

    def log_message(self, *_):
        pass


def main():
    port, kind, *folder = sys.argv[1:]
    if kind == "files":
        os.chdir(folder[0])
        server = http.server.ThreadingHTTPServer(("127.0.0.1", int(port)), Files)
    else:
        server = simple_server.make_server("127.0.0.1", int(port), app, handler_class=Quiet)
    server.serve_forever()


main()
