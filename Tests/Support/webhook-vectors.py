#!/usr/bin/env python3
"""Signs and verifies webhooks with the package standardwebhooks.

    webhook-vectors.py sign SEED COUNT    prints one JSON object a line: secret, id, timestamp, body, signature
    webhook-vectors.py verify             reads such lines with several signatures; prints “ok” or the error
"""

import base64
import json
import random
import sys
from datetime import datetime, timezone

from standardwebhooks.webhooks import Webhook

CHARACTERS = "abc XYZ019 .,:{}[]\\/<>&%äß日本\U0001f600\u0301\n\t"


def sign(seed, count):
    rng = random.Random(seed)
    for _ in range(count):
        secret = "whsec_" + base64.b64encode(rng.randbytes(rng.randint(24, 64))).decode()
        if rng.random() < 0.2:
            secret = secret.rstrip("=")
        data = "".join(rng.choice(CHARACTERS) for _ in range(rng.randint(0, 60)))
        made = {
            "secret": secret,
            "id": "msg_" + "".join(rng.choice("abcXYZ0189_-") for _ in range(rng.randint(1, 40))),
            "timestamp": rng.randint(0, 4_102_444_799),
            "body": json.dumps({"type": "a.b", "data": data}, ensure_ascii=rng.random() < 0.5),
        }
        time = datetime.fromtimestamp(made["timestamp"], timezone.utc)
        made["signature"] = Webhook(secret).sign(made["id"], time, made["body"])
        print(json.dumps(made))


def verify():
    for line in sys.stdin:
        made = json.loads(line)
        headers = {
            "webhook-id": made["id"],
            "webhook-timestamp": str(made["timestamp"]),
            "webhook-signature": made["signature"],
        }
        try:
            Webhook(made["secret"]).verify(made["body"].encode(), headers, json_parse=False)
            print("ok")
        except Exception as error:
            print(error)


if sys.argv[1] == "sign":
    sign(int(sys.argv[2]), int(sys.argv[3]))
else:
    verify()
