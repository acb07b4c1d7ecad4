internal import Commands
internal import Glibc
internal import Host
internal import Sluice
internal import Store
internal import Work

/// What `sluice doctor` looks at.
struct HealthCheck {
    enum State: String, Comparable {
        case ok, note, warning, broken

        private var weight: Int {
            switch self {
            case .ok: 0
            case .note: 1
            case .warning: 2
            case .broken: 3
            }
        }

        static func < (left: State, right: State) -> Bool { left.weight < right.weight }
    }

    struct Finding {
        var name: String
        var state: State
        var sentence: String

        var json: JSONValue {
            .object([
                .init("check", .string(name)), .init("state", .string(state.rawValue)),
                .init("message", .string(sentence)),
            ])
        }
    }

    let directory: DataDirectory
    private(set) var worst = State.ok

    init(directory: DataDirectory) { self.directory = directory }

    mutating func run(also more: [Finding] = [], _ tell: (Finding) -> Void) {
        func note(_ finding: Finding) {
            worst = max(worst, finding.state)
            tell(finding)
        }
        for finding in versions() + permissions() + more { note(finding) }
        do throws(StoreError) {
            let store = try SQLiteStore(directory: directory, create: false)
            for shard in 0..<store.shardCount { note(soundness(of: shard, store)) }
            for finding in logs(store) + running(store) { note(finding) }
        } catch {
            note(Finding(name: "store", state: error.code == .corrupt ? .broken : .warning, sentence: error.message))
        }
    }

    // MARK: Versions

    private func versions() -> [Finding] {
        let libraries = Libraries.current
        let version = Self.number(libraries.sqlite)
        let isAffected = Self.hasResetBug(version)
        return [
            Finding(
                name: "sqlite", state: isAffected ? .note : .ok,
                sentence: isAffected
                    ? "\(libraries.sqlite), which can corrupt a database when checkpoints race (fixed in 3.51.3, 3.50.7 and "
                        + "3.44.6); Sluice's guarded checkpoints keep clear of it, other programs must not open the shards"
                    : libraries.sqlite),
            Finding(name: "zeromq", state: .ok, sentence: libraries.zeromq),
            Finding(name: "swift", state: .ok, sentence: libraries.swift),
        ]
    }

    /// 3.40.1 as 3_040_001.
    static func number(_ version: String) -> Int {
        version.split(separator: ".").prefix(3).reduce(0) { $0 * 1000 + (Int($1) ?? 0) }
    }

    /// The WAL-reset bug: 3.7.0 to 3.51.2, without the releases that it was mended in.
    static func hasResetBug(_ version: Int) -> Bool {
        guard (3_007_000...3_051_002).contains(version) else { return false }
        return !(3_050_007...3_050_999).contains(version) && !(3_044_006...3_044_999).contains(version)
    }

    // MARK: Files

    private func permissions() -> [Finding] {
        var findings: [Finding] = []
        let files = directory.directories.map { ($0, true) } + [(directory.configuration, false)]
        for (path, isDirectory) in files {
            var status = stat()
            guard stat(path, &status) == 0 else { continue }
            if let problem = Self.problem(status, isDirectory: isDirectory) {
                findings.append(Finding(name: "permissions", state: .warning, sentence: "\(path) \(problem)"))
            }
        }
        if findings.isEmpty, access(directory.path, F_OK) == 0 {
            findings.append(
                Finding(name: "permissions", state: .ok, sentence: "nobody else can read \(directory.path)"))
        }
        let longest = directory.run.socket(.offers(seat: Seat.maxCount - 1)).utf8.count
        if longest > 107 {
            findings.append(
                Finding(
                    name: "sockets", state: .note,
                    sentence:
                        "\(directory.run.path) is too long for the path of a socket; outsiders take the path that “sluice "
                        + "status” prints"))
        }
        return findings
    }

    private static func problem(_ status: stat, isDirectory: Bool) -> String? {
        if status.st_uid != geteuid() { return "belongs to user \(status.st_uid), not to \(geteuid())" }
        let mode = status.st_mode & 0o777
        let loose = mode & 0o077
        guard loose != 0 else { return nil }
        return
            "has mode \(String(mode, radix: 8)) and can be reached by others: chmod \(isDirectory ? "700" : "600") mends it"
    }

    // MARK: The store

    private func soundness(of shard: Int, _ store: any CommandStore) -> Finding {
        let name = "shard \(shard < 10 ? "0" : "")\(shard)"
        do throws(StoreError) {
            let problems = try store.integrityCheck(shard: shard)
            if let first = problems.first {
                return Finding(
                    name: name, state: .broken,
                    sentence: "corrupt: \(first) (\(problems.count) such lines); restore it from a backup")
            }
            return Finding(name: name, state: .ok, sentence: "sound")
        } catch {
            return Finding(name: name, state: error.code == .corrupt ? .broken : .warning, sentence: error.message)
        }
    }

    private func logs(_ store: any CommandStore) -> [Finding] {
        (0..<store.shardCount).compactMap { shard in
            let size = store.walSize(shard: shard)
            guard size > 128 << 20 else { return nil }
            return Finding(
                name: "wal", state: .warning,
                sentence: "the log of shard \(shard) has \(size >> 20) MB: a reader or a stopped process holds it back")
        }
    }

    private func running(_ store: any CommandStore) -> [Finding] {
        let instance = Instance(directory: directory, store: store)
        let coordinator = instance.coordinator
        var findings = [
            Finding(
                name: "coordinator", state: coordinator.isHeld ? .ok : .note,
                sentence: coordinator.isHeld
                    ? "running\(coordinator.pid.map { ", pid \($0)" } ?? "")" : "not running: “sluice up” starts one")
        ]
        for socket in RunDirectory.Socket.ofCoordinator {
            let path = directory.run.socket(socket)
            var status = stat()
            guard lstat(path, &status) == 0 else {
                if coordinator.isHeld {
                    findings.append(
                        Finding(
                            name: "sockets", state: .warning,
                            sentence: "\(socket.name) is missing: restart the coordinator"))
                }
                continue
            }
            if status.st_mode & S_IFMT != S_IFSOCK {
                findings.append(
                    Finding(
                        name: "sockets", state: .warning,
                        sentence: "\(path) is not a socket: move it away"))
            }
        }
        do throws(StoreError) {
            let workers = try instance.workers()
            let lost = workers.filter { $0.state == "lost" }
            for worker in lost {
                findings.append(
                    Finding(
                        name: "worker \(worker.seat)", state: coordinator.isHeld ? .warning : .note,
                        sentence:
                            "pid \(worker.pid) is dead and holds \(worker.inFlight) commands; the coordinator gives "
                            + "them back"))
            }
            findings.append(Finding(name: "workers", state: .ok, sentence: "\(workers.count - lost.count) running"))
        } catch {
            findings.append(Finding(name: "workers", state: .warning, sentence: error.message))
        }
        return findings
    }
}
