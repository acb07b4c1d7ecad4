"""OpenStack Swift with its S3 interface: four processes and one device on loopback.

Its programs read /etc/swift/swift.conf only. So they run in a mount namespace in which a directory of the measurement stands there,
which only root may do.
"""

import os
import shutil
import socket

from rig import free_port, until


class ObjectStore:
    access_key, secret_key = "test:tester", "testing"

    def __init__(self, rig):
        self.device = rig.path("swift/node/d1")
        os.makedirs(self.device)
        self.etc = rig.path("swift/etc")
        os.makedirs(self.etc)
        self.ports = {name: free_port() for name in ("proxy", "account", "container", "object", "memcached")}
        self.origin = f"http://127.0.0.1:{self.ports['proxy']}"
        self.configure(rig)
        self.build_rings(rig)
        rig.start("memcached", "-u", "daemon", "-l", "127.0.0.1", "-p", str(self.ports["memcached"]))
        for name in ("account", "container", "object", "proxy"):
            self.start(rig, f"/usr/bin/swift-{name}-server", f"{self.etc}/{name}.conf")
        for name in self.ports:
            until(f"Swift's {name} server", lambda: self.answers(self.ports[name]))

    def start(self, rig, *command):
        script = 'mount --bind "$0" /etc/swift && exec "$@"'
        rig.start("unshare", "--mount", "sh", "-c", script, self.etc, *command)

    def configure(self, rig):
        common = f"bind_ip = 127.0.0.1\nworkers = 2\nuser = root\nswift_dir = {self.etc}\nlog_level = ERROR\n"
        with open(f"{self.etc}/swift.conf", "w") as file:
            file.write("[swift-hash]\nswift_hash_path_suffix = bench\n[storage-policy:0]\nname = one\ndefault = yes\n"
                       "[swift-constraints]\nmax_file_size = 5368709122\n")
        for name in ("account", "container", "object"):
            with open(f"{self.etc}/{name}.conf", "w") as file:
                file.write(f"[DEFAULT]\n{common}bind_port = {self.ports[name]}\ndevices = {rig.path('swift/node')}\n"
                           f"mount_check = false\n[pipeline:main]\npipeline = {name}-server\n"
                           f"[app:{name}-server]\nuse = egg:swift#{name}\n")
        with open(f"{self.etc}/proxy.conf", "w") as file:
            file.write(f"""[DEFAULT]
{common}bind_port = {self.ports['proxy']}
[pipeline:main]
pipeline = catch_errors proxy-logging cache listing_formats s3api tempauth bulk slo dlo proxy-logging proxy-server
[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
allow_account_management = true
[filter:tempauth]
use = egg:swift#tempauth
user_test_tester = testing .admin
[filter:s3api]
use = egg:swift#s3api
s3_acl = false
location = us-east-1
[filter:cache]
use = egg:swift#memcache
memcache_servers = 127.0.0.1:{self.ports['memcached']}
[filter:catch_errors]
use = egg:swift#catch_errors
[filter:proxy-logging]
use = egg:swift#proxy_logging
[filter:listing_formats]
use = egg:swift#listing_formats
[filter:bulk]
use = egg:swift#bulk
[filter:slo]
use = egg:swift#slo
[filter:dlo]
use = egg:swift#dlo
""")

    def build_rings(self, rig):
        for name in ("account", "container", "object"):
            builder = f"{self.etc}/{name}.builder"
            for arguments in (
                ("create", "4", "1", "1"), ("add", f"r1z1-127.0.0.1:{self.ports[name]}/d1", "1"), ("rebalance",)
            ):
                rig.run("swift-ring-builder", builder, *arguments)

    def answers(self, port):
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    def empty(self):
        """Removes the bytes of all objects, so that the disk does not fill. Their names remain."""
        shutil.rmtree(f"{self.device}/objects", ignore_errors=True)
