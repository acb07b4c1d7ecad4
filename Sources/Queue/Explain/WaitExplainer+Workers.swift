internal import Commands
internal import Console
internal import Glibc
internal import Host
internal import Store

extension WaitExplainer {
    /// Another process holds the lock of the command's shard, so that no worker can claim the command. Waits
    /// up to a second for the lock.
    func locked(_ command: Command) -> WaitReason? {
        let group = store.commitGroup(of: command.id.shard(of: store.shardCount))
        do throws(StoreError) {
            _ = try store.apply({ [] }, group: group, seat: 0, epoch: 0, CommitAttempt(timeout: .seconds(1)))
            return nil
        } catch {
            return WaitReason(
                "shard", error.message.hasSuffix(".") ? String(error.message.dropLast()) : error.message,
                threshold: "its lock free", remedy: "It begins when that process has released the lock, or has ended")
        }
    }

    /// A command whose worker died during its execution. Each worker runs one such command at first, beside other
    /// commands.
    func suspicion(_ command: Command, _ alive: [Session]) throws(StoreError) -> WaitReason? {
        guard command.suspect, !alive.isEmpty else { return nil }
        let busy = try store.claimed().joined().filter { row in row.suspect && alive.contains { $0.epoch == row.epoch }
        }
        guard Set(busy.map(\.epoch)).count >= alive.count else { return nil }
        return WaitReason(
            "suspect",
            "a worker died while it executed this, and each of the \(alive.count) running workers executes another "
                + "such command",
            threshold: "a worker without one",
            remedy: "It begins when one of those ends or has run for 10 s, and its turn comes")
    }

    /// No running worker executes commands of this type.
    func type(_ command: Command, _ alive: [Session]) throws(StoreError) -> WaitReason? {
        let infos = try queue.workerInfos()
        var types: Set<String> = []
        for session in alive {
            // A worker that has not stored its types yet may execute any.
            guard let info = infos[session.seat], info.pid == session.pid else { return nil }
            if !info.isDraining { types.formUnion(info.types) }
        }
        guard !types.contains(command.type) else { return nil }
        return WaitReason(
            "type",
            types.isEmpty
                ? "every running worker is draining and takes nothing new"
                : "no running worker executes “\(command.type)”; they execute \(types.sorted().joined(separator: ", "))",
            threshold: "one that does",
            remedy: command.type == CommandType.exec
                ? "It begins when such a worker joins: a worker whose sluice.yaml has “exec.enabled: true”"
                : "It begins when such a worker joins")
    }

    /// The command is ready, and others are ahead of it.
    func slots(_ command: Command, workers: Int) throws(StoreError) -> WaitReason {
        let ahead = try ahead(of: command)
        let count = ahead.isComplete ? "\(ahead.count)" : "more than \(ahead.count)"
        return WaitReason(
            "places",
            "it is ready; \(count) ready \(ahead.count == 1 && ahead.isComplete ? "command is" : "commands are") "
                + "ahead of it, and \(workers) \(workers == 1 ? "worker is" : "workers are") running",
            threshold: "a free slot and its turn", remedy: "It begins when those ahead have begun")
    }

    /// Ready commands of the same quality of service or a better one with an earlier turn. An estimate: ages,
    /// and fairness among destinations, move single commands.
    private func ahead(of command: Command) throws(StoreError) -> (count: Int, isComplete: Bool) {
        let limit = 1000
        var count = 0
        for shard in 0..<store.shardCount {
            let found = try store.ifUsable { () throws(StoreError) in try ahead(of: command, in: shard, limit: limit) }
            count += found ?? 0
            if count >= limit { return (limit, false) }
        }
        return (count, true)
    }

    private func ahead(of command: Command, in shard: Int, limit: Int) throws(StoreError) -> Int {
        var count = 0
        for key in try store.readyKeys(shard: shard) where key.qos >= command.qos && count < limit {
            let rows = try store.ready(shard: shard, key: key, afterTurn: 0, limit: limit)
            count += rows.count { $0.id < command.id || key.qos > command.qos && $0.id != command.id }
        }
        return count
    }
}

/// The waits of a command that runs: for an answer, a file system, or room on a disk.
extension WaitExplainer {
    /// Below this the store cannot count on its next commit.
    private static let minFree: Int64 = 1 << 20
    /// A file system that does not answer for this time counts as hung.
    private static let fileTimeout: Duration = .seconds(1)

    /// - Parameter worker: in words.
    /// - Returns: nil where it waits for nothing that this process can see.
    func runningWait(_ command: Command, _ worker: String) throws(StoreError) -> WaitReason? {
        if let waited = progress?.awaitsResponseFor {
            let bytes = progress.flatMap { $0.total > 0 ? "all \($0.total) bytes" : nil } ?? "the whole request"
            return WaitReason(
                "answer",
                "\(worker) has sent \(bytes), and \(command.destination) has received them; its answer has been missing "
                    + "for \(waited.shortText)",
                threshold: "the answer",
                remedy: "It ends with the answer, or after upload.responseTimeout of sluice.yaml without one")
        }
        for path in try files(of: command) where !Self.answers(path) {
            return WaitReason(
                "fileSystem", "\(worker) executes it, and the file system of “\(path)” does not answer",
                threshold: "an answer within \(Self.fileTimeout.shortText)",
                remedy: "It goes on when the file system answers; look at its server or device")
        }
        return nil
    }

    /// The file system of the store has no room, so that no worker can store that a command begins or ends.
    func fullDisk() -> WaitReason? {
        var facts = statvfs()
        guard statvfs(queue.directory.path, &facts) == 0 else { return nil }
        let free = Int64(clamping: UInt64(facts.f_bavail) * UInt64(facts.f_frsize))
        guard free < Self.minFree else { return nil }
        return WaitReason(
            "disk",
            "the file system of the data directory \(queue.directory.path) has \(free) bytes left, so that no progress can "
                + "be stored", threshold: "\(Self.minFree) bytes",
            remedy: "Make room there; everything goes on by itself then")
    }

    /// The local files that the command reads or writes.
    private func files(of command: Command) throws(StoreError) -> [String] {
        guard let payload = try store.payload(command.id).flatMap({ try? JSONValue(parsing: $0) }) else { return [] }
        let target = command.destination.text
        let prefix = "file://localhost/"
        return ["file", "bodyFile", "stdinFile"].compactMap { payload[$0]?.string }
            + (target.hasPrefix(prefix) ? ["/" + target.dropFirst(prefix.count)] : [])
    }

    /// Whether a look at a file returns in time. A thread that hangs in the kernel ends with this process.
    private static func answers(_ path: String) -> Bool {
        let isDone = MonotonicSemaphore(value: 0)
        startThread(named: "sluice-look") {
            var facts = stat()
            _ = stat(path, &facts)
            isDone.signal()
        }
        return isDone.wait(timeout: fileTimeout)
    }
}
