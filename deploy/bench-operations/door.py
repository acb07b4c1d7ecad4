"""A door of a new data directory, and requests to it."""

import http.client
import socket
import time

from rig import free_port, until


class Door:
    def __init__(self, rig, configuration=""):
        self.port = free_port()
        self.address = f"127.0.0.1:{self.port}"
        self.origin = f"http://{self.address}"
        if configuration:
            rig.configure(configuration)
        data = rig.data()
        self.process = rig.start(rig.sluice_path, "door", "--listen", self.address, "--data", data, *rig.configuration)
        until("the door", self.answers)
        with open(f"{data}/keys/door.token") as file:
            self.token = file.read().strip()
        self.fields = {"Authorization": f"Bearer {self.token}"}
        self.spool = f"{data}/spool/uploads"

    def answers(self):
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)

    def upload_by_tus(self, size, block):
        """One upload in one PATCH; returns when its last byte is durable."""
        connection = self.connect()
        fields = {**self.fields, "Tus-Resumable": "1.0.0"}
        connection.request("POST", "/uploads", headers={**fields, "Upload-Length": str(size), "Content-Length": "0"})
        created = connection.getresponse()
        created.read()
        assert created.status == 201, created.status
        path = created.headers["Location"].removeprefix(self.origin)
        connection.putrequest("PATCH", path)
        fields |= {"Upload-Offset": "0", "Content-Type": "application/offset+octet-stream", "Content-Length": str(size)}
        for name, value in fields.items():
            connection.putheader(name, value)
        connection.endheaders()
        for _ in range(size // len(block)):
            connection.send(block)
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 204 and answer.headers["Upload-Offset"] == str(size), (answer.status, answer.headers)
        connection.close()

    def open_stream(self, query):
        """A socket that gets a stream of events from now on."""
        client = socket.create_connection(("127.0.0.1", self.port))
        client.sendall(
            f"GET /api/v1/events{query} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {self.token}\r\n\r\n".encode())
        return client

    def latency(self, connection):
        """Seconds of a small request that needs the store."""
        begin = time.monotonic()
        connection.request("HEAD", "/uploads/00000000-0000-7000-8000-000000000000", headers=self.fields)
        connection.getresponse().read()
        return time.monotonic() - begin

    def field_file(self, rig):
        """A file with a field for curl, so that no process list shows the token."""
        return rig.secret(f"field-{self.port}", f"Authorization: Bearer {self.token}\n")
