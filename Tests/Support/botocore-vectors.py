#!/usr/bin/env python3
"""Prints requests to S3 with the canonical request and the signature that botocore makes of them.

    botocore-vectors.py SEED COUNT            one JSON object a line
    botocore-vectors.py SEED COUNT --swift    Swift source of the compact ones (S3Tests/BotocoreVector+Recorded.swift)

The same seed gives the same vectors. The signer's own steps are called, so that the clock is a value of the vector.
"""

import hashlib
import json
import random
import sys

from botocore.auth import S3SigV4Auth, S3SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.utils import percent_encode

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
MARKS = " !\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
OTHERS = "äßéøñ日本語\u0301\u200d\U0001f600\u0001\t\n\u007f\u0085\ufffd"
PIECES = ["/", "//", "./", "../", "%2F", "%", "+", "=", "&", "~", "100%", "a b+c"]
ENDPOINTS = [
    "https://s3.amazonaws.com", "https://s3.eu-west-1.amazonaws.com", "http://localhost:8080", "http://127.0.0.1:9000",
    "https://[::1]:9000", "https://store.example.com:443", "http://store.example.com:80",
    "https://Store.Example.com:8443",
]


def text(rng, most):
    out = ""
    for _ in range(rng.randint(1, most)):
        kind = rng.random()
        if kind < 0.5:
            out += rng.choice(LETTERS)
        elif kind < 0.75:
            out += rng.choice(MARKS)
        elif kind < 0.9:
            out += rng.choice(PIECES)
        else:
            out += rng.choice(OTHERS)
    return out


def value(rng):
    """A header's value with spaces and tabs to fold."""
    characters = LETTERS + "-=;,/é日"
    words = ["".join(rng.choice(characters) for _ in range(rng.randint(1, 8))) for _ in range(rng.randint(1, 4))]
    return rng.choice(["", " ", "\t"]) + rng.choice([" ", "  ", " \t "]).join(words) + rng.choice(["", "  "])


def cased(rng, name):
    return "".join(rng.choice([c, c.upper()]) for c in name)


def headers(rng):
    names = [
        "content-type", "content-md5", "x-amz-acl", "x-amz-storage-class", "x-amz-meta-title", "x-amz-meta-a.b_c",
        "x-amz-tagging", "user-agent", "expect", "connection", "x-amzn-trace-id", "te",
    ]
    chosen = rng.sample(names, rng.randint(0, 4))
    if chosen and rng.random() < 0.2:
        chosen.append(chosen[0])
    return [[cased(rng, name), value(rng)] for name in chosen]


def query(rng, unique):
    if rng.random() < 0.3:
        return []
    items = [rng.choice([["uploads", ""], ["uploadId", text(rng, 6)], ["partNumber", str(rng.randint(1, 10000))]])]
    for _ in range(rng.randint(0, 4)):
        items.append([text(rng, 4), rng.choice(["", text(rng, 6)])])
    if rng.random() < 0.3:
        items += [["a", "2"], ["a-", "1"], ["A", ""]] + ([] if unique else [["a", "1"]])
    return [list(pair) for pair in dict(map(tuple, items)).items()] if unique else items


def vector(rng):
    presigned = rng.random() < 0.3
    made = {
        "presigned": presigned,
        "method": rng.choice(["GET", "PUT", "POST", "DELETE", "HEAD"]),
        "endpoint": rng.choice(ENDPOINTS),
        "bucket": rng.choice(["media", "my-bucket", "a.b.c", "data_1"]),
        "key": text(rng, 24),
        "headers": headers(rng),
        "query": query(rng, presigned),
        "time": rng.randint(946_684_800, 4_102_444_799),
        "region": rng.choice(["us-east-1", "eu-west-1", "auto", "garage"]),
        "accessKey": "".join(rng.choice(LETTERS) for _ in range(20)),
        "secretKey": "".join(rng.choice(LETTERS + "+/") for _ in range(40)),
        "token": "".join(rng.choice(LETTERS + "+/=") for _ in range(30)) if rng.random() < 0.3 else None,
        "body": "" if presigned else rng.choice(["", "a", text(rng, 12)]),
        "validity": rng.randint(1, 604_800) if presigned else 0,
    }
    scheme, _, host = made["endpoint"].partition("://")
    is_virtual = made["bucket"] == "my-bucket" and host[0] not in "1[" and rng.random() < 0.5
    made["addressing"] = "virtual" if is_virtual else "path"
    path = percent_encode(made["key"], safe="/~")
    url = f"{scheme}://{made['bucket']}.{host}/{path}" if is_virtual else f"{made['endpoint']}/{made['bucket']}/{path}"
    sign(made, url, rng)
    return made


def sign(made, url, rng):
    credentials = Credentials(made["accessKey"], made["secretKey"], made["token"])
    if made["presigned"]:
        signer = S3SigV4QueryAuth(credentials, "s3", made["region"], expires=made["validity"])
    else:
        signer = S3SigV4Auth(credentials, "s3", made["region"])
    params = [tuple(item) for item in made["query"]]
    request = AWSRequest(
        method=made["method"], url=url, data=made["body"].encode() or None,
        params=dict(params) if made["presigned"] else params)
    for name, text_ in made["headers"]:
        request.headers[name] = text_
    has_md5 = any(name.lower() == "content-md5" for name, _ in made["headers"])
    request.context["has_streaming_input"] = has_md5 and rng.random() < 0.5
    request.context["timestamp"] = stamp(made["time"])
    signer._modify_request_before_signing(request)
    canonical = signer.canonical_request(request)
    to_sign = signer.string_to_sign(request, canonical)
    made["path"] = url.partition("://")[2].partition("/")[1] + url.partition("://")[2].partition("/")[2]
    made["payload"] = canonical.rpartition("\n")[2]
    made["canonical"] = canonical
    made["signature"] = signer.signature(to_sign, request)
    if not made["presigned"]:
        signer._inject_signature_to_request(request, made["signature"])
        made["authorization"] = request.headers["Authorization"]


def stamp(seconds):
    from datetime import datetime, timezone

    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y%m%dT%H%M%SZ")


def literal(value):
    out = ""
    for c in value:
        if c in '"\\':
            out += "\\" + c
        elif " " <= c < "\x7f" or c in "äßéøñ日本語":
            out += c
        else:
            out += f"\\u{{{ord(c):X}}}"
    return f'"{out}"'


def swift(made):
    pairs = lambda items: "[" + ", ".join(f"({literal(n)}, {literal(v)})" for n, v in items) + "]"
    lines = [
        f"isPresigned: {str(made['presigned']).lower()}, method: {literal(made['method'])},",
        f"endpoint: {literal(made['endpoint'])}, addressing: .{made['addressing']}, bucket: {literal(made['bucket'])},",
        f"key: {literal(made['key'])},",
        f"query: {pairs(made['query'])},",
        f"headers: {pairs(made['headers'])},",
        f"payload: {literal(made['payload'])},",
        f"time: {made['time']:_}, region: {literal(made['region'])}, accessKey: {literal(made['accessKey'])},",
        f"secretKey: {literal(made['secretKey'])}, token: {literal(made['token']) if made['token'] else 'nil'},",
        f"validity: {made['validity']:_},",
        f"signature: {literal(made['signature'])},",
        f"canonicalHash: {literal(hashlib.sha256(made['canonical'].encode()).hexdigest())})",
    ]
    if any(len(line) > 96 for line in lines):
        return None
    return "        BotocoreVector(\n" + "\n".join("            " + line for line in lines)


def main():
    seed, count = int(sys.argv[1]), int(sys.argv[2])
    rng = random.Random(seed)
    if "--swift" not in sys.argv:
        for _ in range(count):
            print(json.dumps(vector(rng), ensure_ascii=False))
        return
    made = []
    while len(made) < count:
        line = swift(vector(rng))
        if line:
            made.append(line)
    print("@testable import S3\n\nextension BotocoreVector {")
    print(f"    /// The output of `botocore-vectors.py {seed} {count} --swift` with botocore 1.44.8.")
    print("    static let recorded: [BotocoreVector] = [")
    print(",\n".join(made) + ",")
    print("    ]\n}")


main()
