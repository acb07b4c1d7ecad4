"""Uploads a file with a foreign client of tus, until the server has all of it.

upload-client.py CLIENT ENDPOINT TOKEN FILE     CLIENT: tuspy, aiotus, resumable-upload or parallel

Prints the URL of the upload. A server that does not answer is asked again for 60 s. An offset that the server has
stated and takes back later is an error.
"""
import asyncio
import sys
import time

name, endpoint, token, path = sys.argv[1:5]
headers = {"Authorization": "Bearer " + token}
deadline = time.monotonic() + 60


def until_it_works(action):
    while True:
        try:
            return action()
        except Exception as error:  # Each client has its own errors for a server that is gone.
            if time.monotonic() > deadline:
                raise
            print(f"again: {error!r}"[:200], file=sys.stderr)
            time.sleep(0.05)


def tuspy():
    from tusclient.client import TusClient

    client = TusClient(endpoint, headers=headers)
    uploader = client.uploader(path, chunk_size=64 << 10, upload_checksum=True, metadata={"filename": "a b.bin"})
    stated = 0

    def step():
        nonlocal stated
        if uploader.url:
            uploader.offset = uploader.get_offset()
            if uploader.offset < stated:
                sys.exit(f"the offset went back from {stated} to {uploader.offset}")
        while uploader.offset < uploader.get_file_size():
            uploader.upload_chunk()
            stated = uploader.offset
        return uploader.url

    return until_it_works(step)


async def aiotus_upload():
    import aiotus

    config = aiotus.RetryConfiguration(retry_attempts=100, max_retry_period_seconds=0.2)
    with open(path, "rb") as file:
        url = await aiotus.upload(
            endpoint, file, {"filename": b"a.bin"}, config=config, headers=headers, chunksize=100_000)
    return str(url)


def resumable_upload(parallel):
    from resumable_upload import TusClient

    client = TusClient(endpoint, chunk_size=128 << 10, checksum="sha256", headers=headers, max_retries=50, retry_delay=0.05)
    urls = []
    client.on_upload_url_available = urls.append

    def step():
        if parallel:
            return client.upload_file(path, parallel_uploads=3)
        return client.resume_upload(path, urls[0]) if urls else client.upload_file(path)

    return until_it_works(step)


if name == "tuspy":
    print(tuspy())
elif name == "aiotus":
    print(asyncio.run(aiotus_upload()))
else:
    print(resumable_upload(name == "parallel"))
