"""A proxy with TLS before the door, with its configuration of deploy/proxies."""

import os
import shutil
import socket
import subprocess

from instance import until

CONFIGURATIONS = {"nginx": "nginx.conf", "haproxy": "haproxy.cfg", "caddy": "Caddyfile"}
NGINX = """
%(user)s
daemon off;
pid %(directory)s/nginx.pid;
error_log %(directory)s/nginx.log warn;
events { worker_connections 256; }
http {
    access_log off;
    client_body_temp_path %(directory)s/nginx-body;
    proxy_temp_path %(directory)s/nginx-proxy;
    fastcgi_temp_path %(directory)s/nginx-fastcgi;
    uwsgi_temp_path %(directory)s/nginx-uwsgi;
    scgi_temp_path %(directory)s/nginx-scgi;
%(server)s
}
"""


def program(name):
    """The path of a proxy; None where it is not installed."""
    return shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")


class Certificate:
    """A self-signed certificate of localhost, which the clients of this process trust."""

    def __init__(self, directory):
        self.path, self.key, self.both = (f"{directory}/proxy.{name}" for name in ("crt", "key", "pem"))
        subprocess.run(
            [
                "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext",
                "subjectAltName=DNS:localhost", "-keyout", self.key, "-out", self.path], check=True, capture_output=True)
        with open(self.both, "w") as both:
            for path in (self.path, self.key):
                with open(path) as part:
                    both.write(part.read())
        # Of requests, of ssl and of curl, each when it first needs one.
        for variable in ("REQUESTS_CA_BUNDLE", "SSL_CERT_FILE", "CURL_CA_BUNDLE"):
            os.environ[variable] = self.path


class Proxy:
    def __init__(self, kind, directory, repository):
        self.kind, self.directory, self.repository = kind, directory, repository
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.url = f"https://localhost:{self.port}/sluice"
        # As the comments of the configurations say.
        self.settings = (
            f"door:\n  basePath: /sluice\n  publicURL: {self.url}\n  trustedProxies: [127.0.0.1]\n"
            f"  interimResponses: {'false' if kind == 'nginx' else 'true'}\n")

    def start(self, upstream, certificate):
        """Starts it before the port `upstream` of this machine."""
        with open(f"{self.repository}/deploy/proxies/{CONFIGURATIONS[self.kind]}") as file:
            text = replaced(file.read(), "127.0.0.1:7411", f"127.0.0.1:{upstream}")
        text = getattr(self, self.kind)(text, certificate)
        path = f"{self.directory}/{CONFIGURATIONS[self.kind]}"
        with open(path, "w") as file:
            file.write(text)
        arguments = {
            "nginx": ["-p", self.directory, "-e", f"{self.directory}/nginx.log", "-c", path], "haproxy": ["-db", "-f", path],
            "caddy": ["run", "--adapter", "caddyfile", "--config", path]}[self.kind]
        with open(f"{self.directory}/{self.kind}.log", "ab") as log:
            self.process = subprocess.Popen(
                [program(self.kind), *arguments], stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)

        def listens():
            if self.process.poll() is not None:
                raise RuntimeError(f"{self.kind} ended with {self.process.returncode}; see {self.directory}")
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.1", self.port)) == 0

        until(self.kind, listens)

    def stop(self):
        self.process.terminate()
        self.process.wait()

    def nginx(self, text, certificate):
        text = replaced(text, "listen 443 ssl", f"listen 127.0.0.1:{self.port} ssl")
        text = replaced(text, "/etc/letsencrypt/live/example.com/fullchain.pem", certificate.path)
        text = replaced(text, "/etc/letsencrypt/live/example.com/privkey.pem", certificate.key)
        user = "user root;" if os.geteuid() == 0 else ""
        return NGINX % {"user": user, "directory": self.directory, "server": text}

    def haproxy(self, text, certificate):
        text = replaced(text, "bind :443", f"bind 127.0.0.1:{self.port}")
        return replaced(text, "/etc/haproxy/example.com.pem", certificate.both)

    def caddy(self, text, certificate):
        text = replaced(
            text, "\nexample.com {",
            f"\nhttps://localhost:{self.port} {{\n\tbind 127.0.0.1\n\ttls {certificate.path} {certificate.key}")
        settings = f"admin off\n\tauto_https disable_redirects\n\tstorage file_system {self.directory}/caddy"
        return f"{{\n\t{settings}\n}}\n{text}"


def replaced(text, old, new):
    if old not in text:
        raise RuntimeError(f"the configuration has no “{old}” any more")
    return text.replace(old, new)
