package import Commands
package import Host

/// `run/` of a data directory: the locks, notes and sockets of the processes that work on it. Every name in
/// it is made here.
///
/// A lock is an exclusive flock(2), which ends with its process; the file itself stays. A socket's file stays
/// too, and the next bind replaces it. Nothing in `run/` is needed to read the store: where a note is lost,
/// the processes know less, as each type says.
///
/// | file | what it is | written by | removed |
/// |---|---|---|---|
/// | `creating` | mark: the shards are not complete yet | process that makes the store | renamed `created` |
/// | `created` | mark: there were shards | process that makes the store | never |
/// | `create.lock` | lock: one process makes the shards | process that makes the store | never |
/// | `backup.lock` | lock in a copy: one backup writes it | `sluice backup` | when the backup fails |
/// | `checkpoint.lock` | lock: its holder checkpoints the WALs | coordinator; a producer without one | never |
/// | `coordinator.lock` | lock of the coordinator, with its pid | coordinator | never |
/// | `coordinator.incarnation` | greatest coordinator epoch so far | coordinator | never |
/// | `coordinator.clock` | boot id, wall clock less monotonic clock in ms | coordinator | never |
/// | `seat-NN.lock` | lock of a worker, with its epoch | worker | never |
/// | `collection-NAME.lock` | lock: its holder writes to the collection | worker; `sluice collection put` | never |
/// | `begun-SEAT-EPOCH` | ``StartedExecutions`` (EPOCH in hexadecimal) | worker | at its drain, or reaped |
/// | `exec-UUID.lock` | lock: a program of this command may run | its guardian | by the guardian, at its end, or by the coordinator |
/// | `ordered-PID-START` | ``IntentionalKill`` | `up`, coordinator | when the worker is reaped |
/// | `events.sock` | events to monitors (XPUB) | coordinator | never |
/// | `intake.sock` | hints from producers (PULL) | coordinator | never |
/// | `reports.sock` | hello, heartbeats and transitions of workers (SUB) | coordinator | never |
/// | `control.sock` | control frames to workers (PUB) | coordinator | never |
/// | `worker-SEAT.sock` | offers to one worker (PUSH) | coordinator | never |
package struct RunDirectory: Sendable, Hashable {
    package let path: String

    package init(path: String) { self.path = path }

    /// A socket that the coordinator binds.
    package enum Socket: Sendable, Hashable {
        case events
        case intake
        case reports
        case control
        case offers(seat: Int)

        /// Those that a running coordinator has from its start.
        package static let ofCoordinator: [Socket] = [.events, .intake, .reports, .control]

        /// The name of its file.
        package var name: String {
            switch self {
            case .events: "events.sock"
            case .intake: "intake.sock"
            case .reports: "reports.sock"
            case .control: "control.sock"
            case .offers(let seat): "worker-\(seat).sock"
            }
        }
    }

    /// The path of a socket.
    package func socket(_ socket: Socket) -> String { "\(path)/\(socket.name)" }

    // MARK: Locks

    package enum Lock: Sendable, Hashable {
        case create
        case backup
        case checkpoint
        case coordinator
        case seat(Int)

        /// The name of its file.
        package var name: String {
            switch self {
            case .create: "create.lock"
            case .backup: "backup.lock"
            case .checkpoint: "checkpoint.lock"
            case .coordinator: "coordinator.lock"
            case .seat(let seat): "seat-\(DataDirectory.twoDigits(seat)).lock"
            }
        }
    }

    /// The path of a lock file.
    package func lock(_ lock: Lock) -> String { "\(path)/\(lock.name)" }

    /// Takes a lock. Blocks for `timeout` at most.
    /// - Returns: nil where the lock is still held after `timeout`.
    package func take(_ lock: Lock, timeout: Duration = .zero) throws(StoreError) -> FileLock? {
        do throws(SystemError) {
            let path = self.lock(lock)
            return timeout > .zero ? try FileLock.attempt(path, timeout: timeout) : try FileLock.attempt(path)
        } catch {
            throw StoreError(error)
        }
    }

    /// Looks whether a lock is held, and by which process.
    package func probe(_ lock: Lock) -> LockProbe { LockProbe(path: self.lock(lock)) }

    /// The lock that the guardian of a program holds, by the command.
    package func execLock(_ id: CommandID) -> String { "\(path)/\(Self.execLockPrefix)\(id).lock" }

    /// Removes the locks of programs that no process holds, which killed guardians have left.
    /// - Parameter limit: the maximum number of files to remove.
    /// - Returns: the number of removed files, and the first error.
    package func removeFreeExecLocks(limit: Int) -> (removed: Int, problem: StoreError?) {
        var (removed, problem) = (0, StoreError?.none)
        do throws(StoreError) {
            for path in try files(prefix: Self.execLockPrefix) where removed < limit && isExecLock(path) {
                do throws(SystemError) {
                    if try FileLock.removeIfFree(path) { removed += 1 }
                } catch {
                    problem = problem ?? StoreError(error)
                }
            }
        } catch {
            problem = error
        }
        return (removed, problem)
    }

    private func isExecLock(_ path: String) -> Bool {
        guard let name = path.split(separator: "/").last?.dropFirst(Self.execLockPrefix.count), name.hasSuffix(".lock")
        else { return false }
        return CommandID(String(name.dropLast(".lock".count))) != nil
    }

    // MARK: Notes

    var creating: String { "\(path)/creating" }
    var created: String { "\(path)/created" }
    package var coordinatorEpoch: String { "\(path)/coordinator.incarnation" }
    package var clock: String { "\(path)/coordinator.clock" }

    static let execLockPrefix = "exec-"
    static let startedExecutionsPrefix = "begun-"
    static let intentionalKillPrefix = "ordered-"

    func startedExecutions(seat: Int, epoch: Int64) -> String {
        "\(path)/\(Self.startedExecutionsPrefix)\(seat)-\(String(epoch, radix: 16))"
    }

    func intentionalKill(pid: Int32, startTime: Int64) -> String {
        "\(path)/\(Self.intentionalKillPrefix)\(pid)-\(startTime)"
    }

    /// Paths of the files whose names begin with `prefix`.
    func files(prefix: String) throws(StoreError) -> [String] {
        try DataDirectory.names(path).filter { $0.hasPrefix(prefix) }.map { "\(path)/\($0)" }
    }
}
