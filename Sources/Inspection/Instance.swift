internal import Commands
internal import Console
internal import Glibc
internal import Host
internal import Sluice
internal import Store
internal import Work

/// What is running on a data directory, as far as its locks and its store tell: without the shards that are of no use.
struct Instance {
    struct Worker {
        var seat: Int
        var pid: Int32
        /// `ready`, `draining` or `lost`.
        var state: String
        /// Nil until it has said so.
        var concurrency: Int?
        /// Commands in its hands, by shard.
        var claims: [Int]

        var inFlight: Int { claims.reduce(0, +) }
    }

    let directory: DataDirectory
    let store: any CommandStore

    var coordinator: LockProbe { directory.run.probe(.coordinator) }

    /// Somebody sits there. A coordinator that has a seat's lock is clearing away who died there.
    func isAlive(_ session: Session) -> Bool {
        let seat = directory.run.probe(.seat(session.seat))
        return seat.isHeld && (seat.pid == nil || seat.pid != coordinator.pid)
    }

    func workers() throws(StoreError) -> [Worker] {
        let none = Array(repeating: 0, count: store.shardCount)
        let claimed = try store.mapShards(or: []) { shard throws(StoreError) in try store.claimed(shard: shard) }
        var claims: [Int64: [Int]] = [:]
        for (shard, rows) in claimed.enumerated() {
            for row in rows { claims[row.epoch, default: none][shard] += 1 }
        }
        let cards = try store.settingsIfUsable(prefix: SettingKey.workerPrefix)
        return try store.sessions().sorted { $0.seat < $1.seat }.map { session in
            let card = cards[SettingKey.worker(seat: session.seat)].flatMap { WorkerInfo(setting: $0) }
                .flatMap { $0.pid == session.pid ? $0 : nil }
            return Worker(
                seat: session.seat, pid: session.pid,
                state: !isAlive(session) ? "lost" : card?.isDraining == true ? "draining" : "ready",
                concurrency: card?.concurrency, claims: claims[session.epoch] ?? none)
        }
    }

    /// What people have paused.
    func pauses() throws(StoreError) -> [PauseList.Entry] {
        PauseList(try store.settingsIfUsable(prefix: SettingKey.pausePrefix)).entries
    }

    /// Where others connect to hear events. A socket's path may have 107 bytes; where the directory's own is longer, the
    /// way leads through the coordinator's descriptor of it.
    func eventsEndpoint(coordinator: LockProbe) -> String? {
        let run = realpath(directory.run.path, nil).flatMap { text in
            defer { free(text) }
            return ByteText.text(text)
        }
        let path = RunDirectory(path: run ?? directory.run.path).socket(.events)
        if path.utf8.count <= 107 { return "ipc://\(path)" }
        guard let pid = coordinator.pid, let listing = opendir("/proc/\(pid)/fd") else { return nil }
        defer { closedir(listing) }
        var wanted = stat()
        guard stat(directory.run.path, &wanted) == 0 else { return nil }
        while let entry = readdir(listing) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            let candidate = "/proc/\(pid)/fd/\(name)"
            var found = stat()
            if stat(candidate, &found) == 0, found.st_ino == wanted.st_ino, found.st_dev == wanted.st_dev {
                return "ipc://\(RunDirectory(path: candidate).socket(.events))"
            }
        }
        return nil
    }
}
