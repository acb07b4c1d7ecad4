package import Commands
package import Console
internal import Dispatch
internal import Glibc
internal import Host
internal import Membership
package import NetworkControl
package import Store
internal import Synchronization

/// The causes for which commands do not start, as `status`, `doctor` and `explain` without an id print them: processes
/// without progress, shards that another program has locked, a full disk, and the causes of waiting.
package struct QueueCondition: Sendable {
    package var stalled: [StalledProcess] = []
    /// A sentence for each shard whose lock another program holds.
    package var lockedShards: [String] = []
    /// A sentence for each file system without room.
    package var fullDisks: [String] = []
    package var causes: [WaitCause] = []

    /// Reads what can be read. Takes a second where a shard is locked.
    /// - Parameters:
    ///   - links: of this moment.
    ///   - uploadProblem: why the door refuses uploads of any size.
    package init(_ queue: QueueAccess, links: [LinkReport], uploadProblem: String? = nil) throws(StoreError) {
        let workers = try queue.workers()
        stalled =
            [queue.stalledCoordinator, queue.stalledDoor].compactMap(\.self) + workers.compactMap(\.stalled)
        lockedShards = queue.lockedShards()
        fullDisks = DiskRoom.problems(queue.directory) + [uploadProblem].compactMap(\.self)
        let counts = try queue.store.counts()
        guard counts[.new] + counts[.error] > 0 else { return }
        causes = try queue.waitCauses(
            links: links, others: try queue.readyDestinations(), workers: workers, now: queue.now)
    }

    /// A sentence for each problem that is not the destinations', with its remedy.
    package var problems: [String] {
        stalled.map { "\($0.name): \($0.clause); \($0.remedy)" } + lockedShards + fullDisks
    }

    /// Results for the health check. A pause and a missing process are a person's; a link that fails is a warning once
    /// commands wait for a minute.
    package func findings(now: Timestamp) -> [Finding] {
        var findings =
            lockedShards.map { Finding("shard", .warning, $0) } + fullDisks.map { Finding("disk", .warning, $0) }
        for cause in causes {
            let isOld = now - cause.since > .seconds(60)
            let state: Finding.State =
                switch cause.kind {
                case .link, .failing: isOld ? .warning : .note
                case .person, .process: .note
                case .turn: .ok
                }
            findings.append(Finding("waiting", state, cause.line(now: now)))
        }
        return findings
    }
}

extension QueueAccess {
    /// The coordinator, where it runs and makes no progress.
    package var stalledCoordinator: StalledProcess? { stalled("coordinator", .coordinator) }

    /// The door, where it runs and makes no progress.
    package var stalledDoor: StalledProcess? { stalled("door", .door) }

    func stalled(_ name: String, _ role: Role) -> StalledProcess? {
        guard let holder = presence.holder(of: role) else { return nil }
        return StalledProcess(name, pid: holder.pid, pulse: presence.signOfLife(of: role))
    }

    /// Tries the write locks of all commit groups at once, each for at most a second.
    /// - Returns: a sentence for each group of which another program has locked a shard.
    package func lockedShards() -> [String] {
        let found = Mutex<[Int: String]>([:])
        let groups = store.commitGroups
        DispatchQueue.concurrentPerform(iterations: groups.count) { index in
            do throws(StoreError) {
                _ = try store.apply(
                    { [] }, group: groups[index], seat: 0, epoch: 0, CommitAttempt(timeout: .seconds(1)))
            } catch {
                guard error.code == .busy else { return }
                found.withLock { $0[index] = error.message }
            }
        }
        return found.withLock { $0.sorted { $0.key < $1.key }.map(\.value) }
    }
}

/// The free room of the file systems of a data directory.
private enum DiskRoom {
    /// The room that the log of a shard takes between two checkpoints.
    static let storeFloor: Int64 = 32 << 20

    static func problems(_ directory: DataDirectory) -> [String] {
        var problems: [String] = []
        if let free = free(directory.path), free < storeFloor {
            problems.append(
                "the disk of \(directory.path) has \(Figures.bytes(free)) free: the store stops when it is full; make room"
            )
        }
        return problems
    }

    /// Nil where the directory is missing.
    private static func free(_ path: String) -> Int64? {
        var space = statvfs()
        guard statvfs(path, &space) == 0 else { return nil }
        return Int64(clamping: UInt64(space.f_bavail) * UInt64(space.f_frsize))
    }
}
