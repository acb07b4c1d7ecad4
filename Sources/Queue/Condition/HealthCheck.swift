internal import Commands
internal import Console
internal import Glibc
internal import Host
package import Membership
internal import Store

/// The checks of `sluice doctor`: libraries, permissions, the shards, their logs, and the processes that run.
package struct HealthCheck {
    private let location: StoreLocation
    private var directory: DataDirectory { location.directory }
    private let libraries: Libraries
    /// Sets the numbers of flows, keys and counts right where they are not.
    private let mends: Bool

    /// The size from which a WAL is reported. The coordinator's checkpoints keep it below 32 MB.
    private static let largeWAL: Int64 = 128 << 20

    /// Changes of a shard that are listed.
    private static let maxChanges = 100

    package init(_ location: StoreLocation, libraries: Libraries = .current, mends: Bool = false) {
        self.location = location
        self.libraries = libraries
        self.mends = mends
    }

    /// Runs every check, and calls `report` with each finding as soon as it is known. Checking a shard reads
    /// all of it.
    /// - Parameter others: findings of checks that the caller has made.
    /// - Returns: the worst state.
    @discardableResult
    package func run(others: [Finding] = [], _ report: (Finding) -> Void) -> Finding.State {
        var worst = Finding.State.ok
        func note(_ finding: Finding) {
            worst = max(worst, finding.state)
            report(finding)
        }
        for finding in versions() + permissions() + fileSystem() + others { note(finding) }
        do throws(StoreError) {
            let opened = try Stores.open(location, create: false)
            for finding in shards(opened) { note(finding) }
            for finding in try opened.health.serverFindings() { note(Finding(finding)) }
            let files = opened.maintenance
            for finding in (files.map(messages) ?? []) + backup(opened.health) { note(finding) }
            for finding in files.map(logs) ?? [] { note(finding) }
            let store = opened.store
            for finding in clock(store) + schedules(store) + processes(QueueAccess(opened)) { note(finding) }
        } catch {
            note(Finding("store", error.code == .corrupt ? .broken : .warning, error.message))
        }
        return worst
    }

    // MARK: Versions

    private func versions() -> [Finding] {
        let isAffected = Self.hasResetBug(Self.number(libraries.sqlite))
        return [
            Finding(
                "sqlite", isAffected ? .note : .ok,
                isAffected
                    ? "\(libraries.sqlite), which can corrupt a database when checkpoints race (fixed in 3.51.3, 3.50.7 and "
                        + "3.44.6); Sluice's guarded checkpoints avoid that, other programs must not open the shards"
                    : libraries.sqlite),
            Finding("zeromq", .ok, libraries.zeromq),
            Finding("swift", .ok, libraries.swift),
        ]
    }

    /// 3.40.1 as 3_040_001.
    static func number(_ version: String) -> Int {
        version.split(separator: ".").prefix(3).reduce(0) { $0 * 1000 + (Int($1) ?? 0) }
    }

    /// The WAL-reset bug: 3.7.0 to 3.51.2, except for the releases with the correction.
    static func hasResetBug(_ version: Int) -> Bool {
        guard (3_007_000...3_051_002).contains(version) else { return false }
        return !(3_050_007...3_050_999).contains(version) && !(3_044_006...3_044_999).contains(version)
    }

    // MARK: Files

    private func permissions() -> [Finding] {
        var findings: [Finding] = []
        let files = (directory.directories + [directory.cache]).map { ($0, true) } + [(directory.configuration, false)]
        for (path, isDirectory) in files {
            var status = stat()
            guard stat(path, &status) == 0 else { continue }
            if let problem = Self.problem(status, isDirectory: isDirectory) {
                findings.append(Finding("permissions", .warning, "\(path) \(problem)"))
            }
        }
        if findings.isEmpty, access(directory.path, F_OK) == 0 {
            findings.append(Finding("permissions", .ok, "no other user can read \(directory.path)"))
        }
        if directory.endpoints.address(of: .offers(seat: Role.maxSeats - 1)) == nil {
            findings.append(
                Finding(
                    "sockets", .note,
                    "\(directory.run.path) is too long for the path of a socket; other programs take the path that “sluice "
                        + "status” prints"))
        }
        return findings
    }

    private func fileSystem() -> [Finding] {
        guard access(directory.run.path, F_OK) == 0 else { return [] }
        let found: FileSystemCheck?
        do throws(StoreError) { found = try directory.fileSystem() } catch {
            return [Finding("file system", .warning, error.message)]
        }
        guard let found else { return [Finding("file system", .note, "\(directory.path) cannot be written to")] }
        if let missing = found.missing {
            return [
                Finding(
                    "file system", .broken,
                    "\(directory.path) is on \(found.name), which has no \(missing): choose a local disk")
            ]
        }
        if let warning = found.warning(directory.path) { return [Finding("file system", .warning, warning)] }
        return [Finding("file system", .ok, "has locks and shared memory")]
    }

    private static func problem(_ status: stat, isDirectory: Bool) -> String? {
        if status.st_uid != geteuid() { return "belongs to user \(status.st_uid), not to \(geteuid())" }
        let mode = status.st_mode & 0o777
        guard mode & 0o077 != 0 else { return nil }
        return
            "has mode \(String(mode, radix: 8)), open to other users: chmod \(isDirectory ? "700" : "600") corrects it"
    }

    // MARK: The store

    /// A store on a server has many shards in the same tables: those that are sound are one finding.
    private func shards(_ opened: OpenedStore) -> [Finding] {
        let count = opened.store.shardCount
        let findings = (0..<count).flatMap { integrity(of: $0, opened) }
        guard location.isServer else { return findings }
        let others = findings.filter { $0.state != .ok }
        return others.isEmpty ? [Finding("shards", .ok, "\(count), sound")] : others
    }

    private func integrity(of shard: Int, _ opened: OpenedStore) -> [Finding] {
        let check = "shard \(shard < 10 ? "0" : "")\(shard)"
        do throws(StoreError) {
            let problems = try opened.maintenance?.integrityCheck(shard: shard) ?? []
            guard let first = problems.first else {
                guard mends, let files = opened.maintenance else {
                    return [try relations(of: shard, opened.store, check)]
                }
                return try mended(shard, files, check)
            }
            return [
                Finding(
                    check, .broken,
                    "corrupt: \(first) (\(problems.count) such lines); \(RestoreAdvice.shard(shard))")
            ]
        } catch {
            return [Finding(check, error.code == .corrupt ? .broken : .warning, error.message)]
        }
    }

    /// Counts the dependencies and flows of a sound shard anew.
    private func relations(
        of shard: Int, _ store: any ReadingStore, _ check: String
    ) throws(StoreError) -> Finding {
        let problems = try store.relationProblems(shard: shard)
        guard let first = problems.first else { return Finding(check, .ok, "sound") }
        return Finding(
            check, .broken,
            "its file is sound, and the numbers of its flows are not: \(first) (\(problems.count) such lines). Its commands "
                + "still run; “sluice doctor --mend” sets the numbers right")
    }

    /// Counts the dependencies and flows of a sound shard anew, and sets right what differs.
    private func mended(
        _ shard: Int, _ files: any StoreMaintenance, _ check: String
    ) throws(StoreError) -> [Finding] {
        let mend = try files.mend(shard: shard)
        var findings = mend.changes.prefix(Self.maxChanges).map { Finding(check, .note, "mended: \($0)") }
        if mend.changes.count > Self.maxChanges {
            findings.append(
                Finding(check, .note, "mended: \(mend.changes.count - Self.maxChanges) more numbers and commands"))
        }
        if let first = mend.left.first {
            findings.append(
                Finding(
                    check, .broken,
                    "cannot be mended: \(first) (\(mend.left.count) such lines); cancel or retry the commands that are "
                        + "named, or \(RestoreAdvice.shard(shard))"))
        }
        return findings.isEmpty ? [Finding(check, .ok, "sound")] : findings
    }

    /// Compares what the shards have told each other, and posts what is missing.
    private func messages(_ files: any StoreMaintenance) -> [Finding] {
        do throws(StoreError) {
            let found = try files.debts()
            if mends { try files.post(found) }
            let debts = found.debts.map { (mends ? "mended: \($0.change)" : $0.problem) }.sorted()
            var findings = Self.first(debts, of: Self.maxChanges, "messages of shards") { sentence in
                mends
                    ? Finding("shards", .note, sentence)
                    : Finding("shards", .broken, "\(sentence); “sluice doctor --mend” sets that right")
            }
            let lost = found.lostParents.map { lost in
                "command \(lost.child) waits for \(lost.parent), which is not in the restored shard; it ends as after a failure of that"
            }
            findings += Self.first(lost.sorted(), of: Self.maxChanges, "commands of a lost parent") {
                Finding("shards", .warning, $0)
            }
            return findings.isEmpty ? [Finding("shards", .ok, "agree with each other")] : findings
        } catch {
            return [Finding("shards", error.code == .corrupt ? .broken : .warning, error.message)]
        }
    }

    /// - Parameter more: names those beyond `limit`.
    private static func first(
        _ sentences: [String], of limit: Int, _ more: String, _ finding: (String) -> Finding
    ) -> [Finding] {
        let rest = sentences.count - limit
        return sentences.prefix(limit).map(finding) + (rest > 0 ? [finding("\(rest) more \(more)")] : [])
    }

    private func backup(_ health: any StoreHealth) -> [Finding] {
        guard let time = health.backupTime else {
            return health.copyWarning().map { [Finding("store", .warning, $0)] } ?? []
        }
        return [
            Finding(
                "store", .note,
                "\(directory.path) is a backup of \(time): it can be read, and “sluice restore” puts it into a data directory"
            )
        ]
    }

    private func logs(_ files: any StoreMaintenance) -> [Finding] {
        (0..<files.shardCount).compactMap { shard in
            let size = files.walSize(shard: shard)
            guard size > Self.largeWAL else { return nil }
            return Finding(
                "wal", .warning,
                "the log of shard \(shard) has \(size >> 20) MB: a reader or a stopped process keeps it from shrinking")
        }
    }

    // MARK: Times

    /// The clock, where it is not trusted.
    private func clock(_ store: any CommandStore) -> [Finding] {
        do throws(StoreError) {
            let now = MonotonicTime.now
            return try store.clockHold(now: now).map { [Finding("clock", .warning, $0.sentence(now: now))] } ?? []
        } catch {
            return []
        }
    }

    /// The schedules that do not fire.
    private func schedules(_ store: any CommandStore) -> [Finding] {
        do throws(StoreError) {
            let (limits, now) = (try store.rateLimits(), store.clock.now())
            let held = try store.schedules().flatMap { schedule in
                let hold = ScheduleText.hold(of: schedule, now: now).map { "“\(schedule.name)” is held: \($0)" }
                let missing = schedule.action.limits.sorted().filter { limits[$0] == nil }.map { name in
                    "“\(schedule.name)” names the rate limit “\(name)”, which does not exist, so that its commands wait; "
                        + "“sluice limit set \(name) --starts RATE” makes it"
                }
                return [hold].compactMap(\.self) + missing
            }
            let more = held.count > Self.maxChanges ? " (and \(held.count - Self.maxChanges) more)" : ""
            return held.prefix(Self.maxChanges).enumerated().map { index, sentence in
                Finding("schedule", .warning, sentence + (index == Self.maxChanges - 1 ? more : ""))
            }
        } catch {
            return []
        }
    }

    // MARK: Processes

    private func processes(_ queue: QueueAccess) -> [Finding] {
        let coordinator = queue.coordinator
        let running =
            queue.stalledCoordinator.map(Finding.init(stalled:))
            ?? Finding(
                "coordinator", coordinator != nil ? .ok : .note,
                coordinator != nil
                    ? "running\(coordinator?.pid.map { ", pid \($0)" } ?? "")" : "not running: “sluice up” starts one")
        return [running] + sockets(queue, isRunning: coordinator != nil) + workers(queue, isRunning: coordinator != nil)
    }

    private func sockets(_ queue: QueueAccess, isRunning: Bool) -> [Finding] {
        CoordinatorSocket.permanent.compactMap { socket in
            switch queue.endpoints.problem(of: socket) {
            case .missing(let name):
                isRunning ? Finding("sockets", .warning, "\(name) is missing: restart the coordinator") : nil
            case .occupied(let path): Finding("sockets", .warning, "\(path) is not a socket: move it away")
            case nil: nil
            }
        }
    }

    private func workers(_ queue: QueueAccess, isRunning: Bool) -> [Finding] {
        do throws(StoreError) {
            let workers = try queue.workers()
            let lost = workers.filter { $0.state == .lost }
            let stalled = workers.compactMap(\.stalled)
            return lost.map { worker in
                Finding(
                    "worker \(worker.seat)", isRunning ? .warning : .note,
                    "pid \(worker.pid) is dead and has claimed \(worker.inFlight) commands; the coordinator releases them"
                )
            } + stalled.map(Finding.init(stalled:))
                + [Finding("workers", .ok, "\(workers.count - lost.count - stalled.count) running")]
        } catch {
            return [Finding("workers", .warning, error.message)]
        }
    }
}
