"""curl: a plain PUT that is repeated with an Idempotency-Key, and the IETF draft with requests by hand."""

import os
import subprocess
import time

from messages import Head


def run(job, *arguments, source=None, offset=0):
    """Runs curl once, with the bytes of the file from `offset` as its body. A pause kills it.

    Returns the heads of all responses, the interim ones first.
    """
    heads, body = job.path + ".heads", job.path + ".body"
    command = [
        "curl", "-sS", "-H", f"@{job.instance.field_file}", "-H", f"X-File: {job.name}", "-D", heads, "-o", body, *arguments]
    open(heads, "w").close()
    with open(os.devnull if source is None else source, "rb") as file:
        file.seek(offset)
        process = subprocess.Popen(command, stdin=file, stderr=subprocess.PIPE, text=True)
        while True:
            try:
                _, errors = process.communicate(timeout=0.02)
                break
            except subprocess.TimeoutExpired:
                if job.pauses and job.transfer.sent >= job.pauses[0]:
                    process.kill()
                    _, errors = process.communicate()
                    job.pause(job.transfer.sent)
                    break
    if process.returncode:
        job.errors.append(f"curl: {process.returncode} {errors.strip()}"[:200])
        if time.monotonic() > job.deadline:
            raise RuntimeError(job.errors[-1])
        time.sleep(0.1)
    with open(heads, "rb") as file:
        # The last one has no end where curl was killed while it wrote the head.
        return [Head(part) for part in file.read().split(b"\r\n\r\n")[:-1] if part.strip()]


def put(job):
    while True:
        heads = run(
            job, "-T", job.path, "-H", f'Idempotency-Key: "{job.key}"', f"{job.endpoint}&name={job.name}")
        final = [head for head in heads if head.status >= 200]
        if final and final[-1].status == 201:
            return final[-1].fields["location"]
        if final:
            refuse(job, final[-1], {400, 409, 503})


def refuse(job, head, permitted):
    """- Raises: for an answer that a client cannot repeat its request after."""
    job.errors.append(f"{head.status}")
    # Of a proxy whose connection to the door was cut.
    if head.status not in permitted | {502, 503, 504} or time.monotonic() > job.deadline:
        raise RuntimeError(f"answered with {head.status}")
    time.sleep(0.1)


class Draft:
    """The fields of one version of the draft; None is a client that names none."""

    def __init__(self, version):
        self.version = version

    def fields(self, is_complete, offset=None):
        found = [f"Upload-Draft-Interop-Version: {self.version}"] if self.version else []
        if self.version == 3:
            found.append(f"Upload-Incomplete: ?{0 if is_complete else 1}")
        else:
            found.append(f"Upload-Complete: ?{1 if is_complete else 0}")
        if offset is not None:
            found += [f"Upload-Offset: {offset}", "Content-Type: application/partial-upload"]
        return [item for field in found for item in ("-H", field)]

    def is_complete(self, head):
        name, value = ("upload-incomplete", "?0") if self.version == 3 else ("upload-complete", "?1")
        return head.fields.get(name) == value


def ietf(job):
    """Creates by one whole request, or carefully by an empty one where the client gets no 104; then by PATCH from HEAD."""
    draft = Draft(job.version)
    sends = ["--data-binary", "@-", "-H", "Expect:"]
    url, offset = None, 0
    while True:
        if url is None:
            create = [
                "-X", "POST", "-H", f'Idempotency-Key: "{job.key}"', *draft.fields(is_complete=job.version is not None),
                f"{job.endpoint}&name={job.name}"]
            if job.version is None:
                heads = run(job, "-H", f"Upload-Length: {job.size}", *create)
            else:
                heads = run(job, *sends, *create, source=job.path)
            url = next((head.fields["location"] for head in heads if "location" in head.fields), None)
        else:
            heads = run(
                job, "-X", "PATCH", *sends, *draft.fields(True, offset), url, source=job.path, offset=offset)
        final = [head for head in heads if head.status >= 200]
        if final and 200 <= final[-1].status < 300 and draft.is_complete(final[-1]):
            return url
        if final and final[-1].status not in (201, 204):
            refuse(job, final[-1], {400, 409, 410, 503})
        if url is None:
            continue
        while True:
            heads = run(job, "--head", *draft.fields(True)[: 2 if job.version else 0], url)
            if heads and 200 <= heads[-1].status < 300:
                break
            if heads:
                refuse(job, heads[-1], {503})
        if draft.is_complete(heads[-1]):
            return url
        offset = heads[-1].number("upload-offset")
