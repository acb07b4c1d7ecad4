#!/usr/bin/env python3
"""Prints events of a running Sluice: any ZeroMQ SUB socket can subscribe.

    sluice up &
    python3 subscribe.py ipc:///var/lib/sluice/run/events.sock status/ link/

“sluice status” prints the endpoint. Without a topic it prints every event. Needs pyzmq.
"""

import json
import sys

import zmq

if len(sys.argv) < 2:
    sys.exit(__doc__)
socket = zmq.Context().socket(zmq.SUB)
socket.connect(sys.argv[1])
for topic in sys.argv[2:] or [""]:
    socket.setsockopt_string(zmq.SUBSCRIBE, topic)
while True:
    # One frame: the topic, a space, a JSON object.
    topic, _, body = socket.recv().partition(b" ")
    print(topic.decode(), json.loads(body), flush=True)
