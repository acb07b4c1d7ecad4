"""A file that changes while curl sends it under one Idempotency-Key, by PUT or as a form."""

import os

import curl


def draw(source, job, limit):
    """Draws the second version of a file, and writes it beside the first: other bytes, a beginning in common, or another length."""
    with open(job.path, "rb") as file:
        first = file.read()
    kind = source.choice(["other", "tail", "byte", "longer", "shorter"])
    at = source.randrange(len(first))
    if kind == "other":
        second = source.randbytes(len(first))
    elif kind == "tail":
        second = first[:at] + source.randbytes(len(first) - at)
    elif kind == "byte":
        second = first[:at] + bytes([first[at] ^ 1]) + first[at + 1 :]
    elif kind == "longer":
        second = first + source.randbytes(source.randint(1, min(len(first), limit)))
    else:
        second = first[:at]
    job.other_path, job.other_size = job.path + ".changed", len(second)
    with open(job.other_path, "wb") as file:
        file.write(second)
    job.has_form = source.random() < 0.5


def change(job):
    """The file has its second version from now on."""
    job.former_path = job.path + ".former"
    os.rename(job.path, job.former_path)
    os.rename(job.other_path, job.path)
    job.size, job.other_path = job.other_size, None


def upload(job):
    """Sends the first version until the request is cut or answered, and then the second. - Returns: the URL of the second."""
    while True:
        heads = curl.run(job, *arguments(job))
        answered = [head.status for head in heads if head.status >= 200]
        if answered and answered[-1] not in (201, 422):
            curl.refuse(job, [head for head in heads if head.status >= 200][-1], {400, 409, 503})
        if job.other_path:
            # The first version has arrived, as a whole or some of it.
            if 201 in answered or not answered:
                change(job)
        elif 201 in answered:
            return heads[-1].fields["location"]
        elif 422 in answered:
            # The key stands for the bytes of the first version.
            job.transfer.refusals += 1
            job.key += "-again"


def arguments(job):
    key = ["-H", f'Idempotency-Key: "{job.key}"']
    if job.has_form:
        return [*key, "-F", f"file=@{job.path};filename={job.name}", job.endpoint]
    return [*key, "-T", job.path, f"{job.endpoint}&name={job.name}"]
