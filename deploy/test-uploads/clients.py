"""The Python clients of tus, each with its own way to go on after an error or a pause."""

import asyncio
import logging
import time

# It reports each of its many retries.
logging.getLogger("aiotus").setLevel(logging.CRITICAL)


class Job:
    """One file that a client sends. `pauses` are offsets at which it stops for a moment and goes on as a new program would."""

    def __init__(self, name, path, size, client, route, key, chunk, checksum, pauses, version):
        self.name, self.path, self.size, self.client, self.route, self.key = name, path, size, client, route, key
        self.chunk, self.checksum, self.pauses, self.version = chunk, checksum, list(pauses), version
        self.deadline = None
        self.other_path = self.former_path = None  # Of the version that the file will have, and of the one that it had.
        self.mixtures = 0
        self.errors = []

    def begin(self, seconds, instance, base, transfer):
        self.deadline = time.monotonic() + seconds
        self.endpoint = f"{base}/uploads?route={self.route}"
        self.instance, self.transfer = instance, transfer
        self.fields = {"Authorization": f"Bearer {instance.token}", "X-File": self.name, "Idempotency-Key": f'"{self.key}"'}

    def again(self, error):
        """Waits before the next try. - Raises: the error, after the deadline."""
        self.errors.append(f"{type(error).__name__}: {error}"[:200])
        if time.monotonic() > self.deadline:
            raise error
        time.sleep(0.1)

    def pause(self, offset):
        """Whether a pause is due; it is over when this returns."""
        if not self.pauses or offset < self.pauses[0]:
            return False
        self.pauses.pop(0)
        self.transfer.pauses += 1
        time.sleep(0.2)
        return True


def tuspy(job):
    from tusclient.client import TusClient

    client = TusClient(job.endpoint, headers=job.fields)

    def uploader(url=None):
        return client.uploader(
            job.path, url=url, chunk_size=job.chunk, upload_checksum=job.checksum is not None, metadata={"filename": job.name})

    current = uploader()
    while True:
        try:
            if current.url:
                current.offset = current.get_offset()
            if not job.size:
                current.upload()
            while current.offset < job.size:
                current.upload_chunk()
                if current.offset < job.size and job.pause(current.offset):
                    current = uploader(current.url)
            return current.url
        except Exception as error:  # It has own errors and those of requests.
            job.again(error)


def aiotus(job):
    return asyncio.run(aiotus_upload(job))


async def aiotus_upload(job):
    import aiohttp
    import aiotus
    import aiotus.core

    found = []
    trace = aiohttp.TraceConfig()

    async def ended(session, context, parameters):
        if parameters.response.status == 201:
            found.append(parameters.response.headers["Location"])

    trace.on_request_end.append(ended)
    configuration = aiotus.RetryConfiguration(retry_attempts=200, max_retry_period_seconds=0.3)
    with open(job.path, "rb") as file:
        while True:
            async with aiohttp.ClientSession(trace_configs=[trace]) as session:
                try:
                    if found:
                        work = aiotus.core.upload_buffer(session, found[0], file, chunksize=job.chunk, headers=job.fields)
                    else:
                        work = aiotus.upload(
                            job.endpoint, file, {"filename": job.name.encode()}, client_session=session, config=configuration,
                            headers=job.fields, chunksize=job.chunk)
                    if not await paused(work, job) and found:
                        return found[0]
                except Exception as error:
                    job.again(error)


async def paused(work, job):
    """Runs an upload, and cancels it at the next pause. - Returns: whether it was cancelled."""
    task = asyncio.ensure_future(work)
    while not task.done():
        await asyncio.wait([task], timeout=0.02)
        if not task.done() and job.pauses and job.transfer.sent >= job.pauses[0]:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            return job.pause(job.transfer.sent)
    await task
    return False


def resumable(job):
    from resumable_upload import TusClient

    urls = []
    client = TusClient(
        job.endpoint, chunk_size=job.chunk, checksum=job.checksum or False, headers=job.fields, max_retries=5, retry_delay=0.05)
    client.on_upload_url_available = urls.append
    while True:
        try:
            if urls:
                return client.resume_upload(job.path, urls[0])
            if job.pauses and job.pauses[0] < job.size:
                client.upload_file(job.path, metadata={"filename": job.name}, stop_at=job.pauses[0])
                job.pause(job.size)
                continue
            return client.upload_file(job.path, metadata={"filename": job.name})
        except Exception as error:
            job.again(error)


def resumable_parallel(job):
    from resumable_upload import TusClient
    from resumable_upload.url_storage import FileURLStorage

    fields = {name: value for name, value in job.fields.items() if name != "Idempotency-Key"}

    def add_key(method, url, headers):
        # Each part is an upload of its own; only the whole is a file.
        if method == "POST" and headers.get("Upload-Concat") != "partial":
            headers["Idempotency-Key"] = job.fields["Idempotency-Key"]

    job.transfer.is_parallel = True
    client = TusClient(
        job.endpoint, chunk_size=job.chunk, checksum=job.checksum or False, headers=fields, max_retries=5, retry_delay=0.05,
        store_url=True, url_storage=FileURLStorage(job.path + ".urls"), before_request=add_key)
    while True:
        try:
            return client.upload_file(job.path, metadata={"filename": job.name}, parallel_uploads=3)
        except Exception as error:
            job.again(error)
