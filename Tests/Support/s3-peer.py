#!/usr/bin/env python3
"""The store moto as a server that verifies signatures, and a client that reads from it.

    s3-peer.py serve PORT KEYS               serves S3 on 127.0.0.1 with the bucket “media”; writes its access key and secret key,
                                             a line each, to the file KEYS
    s3-peer.py read PORT ACCESS SECRET KEY   prints the size, the SHA-256, the ETag and the metadata “title” of an object, a line
                                             each, and the number of unfinished uploads
"""

import hashlib
import json
import os
import sys
import time

# The requests below come before the first that must be signed.
os.environ["INITIAL_NO_AUTH_ACTION_COUNT"] = "4"

import boto3
from botocore.config import Config


def client(service, port, access="none", secret="none"):
    return boto3.client(
        service,
        endpoint_url=f"http://127.0.0.1:{port}",
        region_name="us-east-1",
        aws_access_key_id=access,
        aws_secret_access_key=secret,
        config=Config(s3={"addressing_style": "path"}, retries={"max_attempts": 1}),
    )


def serve(port, keys):
    from moto.server import ThreadedMotoServer

    ThreadedMotoServer(ip_address="127.0.0.1", port=int(port), verbose=False).start()
    iam = client("iam", port)
    iam.create_user(UserName="sluice")
    key = iam.create_access_key(UserName="sluice")["AccessKey"]
    policy = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]}
    iam.put_user_policy(UserName="sluice", PolicyName="all", PolicyDocument=json.dumps(policy))
    client("s3", port).create_bucket(Bucket="media")
    with open(keys + ".part", "w") as file:
        file.write(f"{key['AccessKeyId']}\n{key['SecretAccessKey']}\n")
    os.rename(keys + ".part", keys)
    while True:
        time.sleep(60)


def read(port, access, secret, key):
    s3 = client("s3", port, access, secret)
    made = s3.get_object(Bucket="media", Key=key)
    body = made["Body"].read()
    uploads = s3.list_multipart_uploads(Bucket="media").get("Uploads", [])
    for line in len(body), hashlib.sha256(body).hexdigest(), made["ETag"], made["Metadata"].get("title"), len(uploads):
        print(line)


if sys.argv[1] == "serve":
    serve(*sys.argv[2:])
else:
    read(*sys.argv[2:])
