"""An nginx that serves a directory on loopback."""

import os
import socket
import sys

from rig import free_port, until


class Nginx:
    def __init__(self, rig, locations=""):
        self.root, self.port = rig.path("www"), free_port()
        os.makedirs(self.root, exist_ok=True)
        place = rig.path("nginx")
        os.makedirs(place, exist_ok=True)
        temporary = "".join(f"{name}_temp_path {place}/{name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        with open(f"{place}/conf", "w") as file:
            file.write(f"""
                {"user root;" if os.geteuid() == 0 else ""}
                daemon off; worker_processes 2; pid {place}/pid; error_log {place}/error.log;
                events {{ worker_connections 4096; }}
                http {{
                    access_log off; sendfile on; keepalive_requests 1000000; client_max_body_size 0; {temporary}
                    types {{ application/json json; }}
                    server {{
                        listen 127.0.0.1:{self.port} backlog=4096; root {self.root}; autoindex on;
                        {locations}
                    }}
                }}""")
        path = rig.find("nginx")
        if not path:
            sys.exit("bench-operations: nginx is not installed: apt install nginx-light")
        rig.start(path, "-c", f"{place}/conf", "-e", f"{place}/error.log")
        until("nginx", self.answers)
        self.origin = f"http://127.0.0.1:{self.port}"

    def answers(self):
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0
