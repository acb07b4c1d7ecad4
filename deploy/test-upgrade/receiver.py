"""A destination that counts the requests of each path."""

import http.server
import threading
from collections import Counter


class Receiver(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.lock = threading.Lock()
        self.deliveries = Counter()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def origin(self):
        return f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request, client_address):
        """A connection that was reset in the middle is not a delivery."""


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def take(self):
        length = int(self.headers.get("Content-Length", 0))
        body = self.rfile.read(length)
        if len(body) == length:
            with self.server.lock:
                self.server.deliveries[(self.command, self.path)] += 1
        self.send_response(201)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_PUT = do_POST = take

    def do_HEAD(self):
        self.send_response(404)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *arguments):
        pass
