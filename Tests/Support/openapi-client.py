"""Validates the description of the API, generates a client from it, and submits a command with that client.

    openapi-client.py URL TOKENFILE DIRECTORY

URL is that of the API, such as http://127.0.0.1:7411/api/v1; the client is written below DIRECTORY. Prints one JSON line: the id
and status of the command, its status as the client reads it again, and the number of operations of the client. Uses
openapi-spec-validator and openapi-python-client.
"""

import json
import os
import pathlib
import subprocess
import sys
import urllib.request

import openapi_spec_validator

url, token_file, directory = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
token = pathlib.Path(token_file).read_text().strip()
description = directory / "openapi.json"
with urllib.request.urlopen(f"{url}/openapi.json") as response:
    description.write_bytes(response.read())
document = json.loads(description.read_text())
openapi_spec_validator.validate(document)

# The generator knows no lines of JSON. Every other part must be generated without a warning.
configuration = directory / "generator.yaml"
configuration.write_text("content_type_overrides: {application/x-ndjson: application/octet-stream}\n")
tools = os.path.dirname(sys.executable)
subprocess.run(
    [f"{tools}/openapi-python-client", "generate", "--path", str(description), "--meta", "none", "--config",
     str(configuration), "--output-path", str(directory / "sluice_client"), "--fail-on-warning"],
    check=True, stdout=sys.stderr, env={**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"})

sys.path.insert(0, str(directory))
from sluice_client import AuthenticatedClient  # noqa: E402
from sluice_client.api.commands import show_command, submit_command  # noqa: E402
from sluice_client.models import Command, NewCommand  # noqa: E402

operations = [path for path in (directory / "sluice_client" / "api").glob("*/*.py") if path.name != "__init__.py"]
described = sum(method in {"get", "put", "post", "patch", "delete"}
                for path in document["paths"].values() for method in path)
assert len(operations) >= described, f"{described} operations are described, and {len(operations)} generated"

with AuthenticatedClient(base_url=url, token=token) as client:
    made = submit_command.sync(client=client, body=NewCommand(type_="noop", payload={"milliseconds": 0}))
    assert isinstance(made, Command), made
    again = show_command.sync(made.id, client=client)
    assert isinstance(again, Command), again
    print(json.dumps({"id": str(made.id), "status": made.status, "again": again.status, "operations": described}))
