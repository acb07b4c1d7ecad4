#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// `run/` of a data directory: the locks, notes and sockets of the processes that work on it.
///
/// A lock is a flock(2), which ends with its process; the file itself stays. A socket's file stays too, and the
/// next bind replaces it. Nothing in `run/` is needed to read the store: where a note is lost, the processes
/// know less, as each type says.
///
/// Files of `run/` may be removed while processes use them. The locks of the coordinator, of the seats and of
/// the store are also locks on bytes of ``presence``, beside `run/`: a process that has the lock file and not
/// the byte has nothing. Four times a second the coordinator and each worker make their lock file anew where it
/// is gone (``FileLock/renew(_:)``), and the coordinator binds its sockets anew. So two coordinators never run,
/// and no seat is held twice.
///
/// | file | what it is | written by | removed |
/// |---|---|---|---|
/// | `creating` | mark: the shards are not complete yet | process that makes the store | renamed `created` |
/// | `created` | mark: there were shards | process that makes the store | never |
/// | `create.lock` | lock: one process makes the shards | process that makes the store | never |
/// | `backup.lock` | lock in a copy: one backup writes it | `sluice backup` | when the backup fails |
/// | `checkpoint.lock` | lock: its holder checkpoints the WALs | coordinator; a producer without one | never |
/// | `store.lock` | shared lock: a process has a shard open; exclusive: shards are replaced | every process | never |
/// | `changes-NN` | pages that checkpoints write during a backup, see ``PageChanges`` | `sluice backup`; a process that checkpoints | by the backup |
/// | `coordinator.lock` | lock of the coordinator, with its pid | coordinator | never |
/// | `coordinator.incarnation` | greatest coordinator epoch so far | coordinator | never |
/// | `coordinator.clock` | boot id, wall clock less monotonic clock in ms | coordinator | never |
/// | `door.lock` | lock of the door: one process takes uploads | door | never |
/// | `seat-NN.lock` | lock of a worker, with its epoch | worker | never |
/// | `coordinator.pulse`, `door.pulse`, `seat-NN.pulse` | ``LockPulse`` of the holder of the lock | the holder | never |
/// | `collection-NAME.lock` | lock: its holder writes to the collection | worker; `sluice collection put` | never |
/// | `begun-SEAT-EPOCH` | intent log of a worker: the executions that it has started (EPOCH in hexadecimal) | worker | at its drain, or reaped |
/// | `exec-UUID.lock` | lock: a program of this command may run | its guardian | by the guardian, at its end, or by the coordinator |
/// | `ordered-PID-START` | note: the process is killed intentionally | `up`, coordinator | when the worker is reaped |
/// | `events.sock` | events to monitors (XPUB) | coordinator | never |
/// | `intake.sock` | hints from producers (PULL) | coordinator | never |
/// | `reports.sock` | hello, heartbeats and transitions of workers (SUB) | coordinator | never |
/// | `control.sock` | control frames to workers (PUB) | coordinator | never |
/// | `worker-SEAT.sock` | offers to one worker (PUSH) | coordinator | never |
package struct RunDirectory: Sendable, Hashable {
    package let path: String

    package init(path: String) { self.path = path }

    // MARK: Locks

    package enum Lock: Sendable, Hashable {
        case create
        case backup
        case checkpoint
        case coordinator
        case store
        case door
        case seat(Int)

        /// The seats of a data directory.
        package static let seats = 0..<256

        /// The name of its file.
        package var name: String {
            switch self {
            case .create: "create.lock"
            case .backup: "backup.lock"
            case .checkpoint: "checkpoint.lock"
            case .coordinator: "coordinator.lock"
            case .store: "store.lock"
            case .door: "door.lock"
            case .seat(let seat): "seat-\(DataDirectory.twoDigits(seat)).lock"
            }
        }

        /// The bytes of ``RunDirectory/presence`` that the lock covers too.
        package var bytes: Range<Int64>? {
            switch self {
            case .coordinator: 0..<1
            case .seat(let seat): Int64(1 + seat)..<Int64(2 + seat)
            case .store: 1024..<1025
            case .door: 1025..<1026
            case .create, .backup, .checkpoint: nil
            }
        }
    }

    /// The path of a lock file.
    package func lock(_ lock: Lock) -> String { "\(path)/\(lock.name)" }

    /// The path of the sign of life of the process that holds a lock.
    package func pulse(_ lock: Lock) -> String { "\(path)/\(lock.name.dropLast(".lock".count)).pulse" }

    /// The file whose bytes are the guards of locks: one that a sweep of `run/` does not remove.
    package var presence: String {
        let suffix = "/run"
        return (path.hasSuffix(suffix) ? String(path.dropLast(suffix.count)) : path) + "/presence"
    }

    /// Waits between two looks at a lock.
    package static let pause: @Sendable () -> Void = { usleep(10_000) }

    /// Looks whether a lock is held, and by which process.
    package func probe(_ lock: Lock) -> LockProbe { LockProbe(path: self.lock(lock)) }

    // MARK: Notes

    package var creating: String { "\(path)/creating" }
    package var created: String { "\(path)/created" }
    package var coordinatorEpoch: String { "\(path)/coordinator.incarnation" }
    package var clock: String { "\(path)/coordinator.clock" }

    /// Of ``PageChanges``.
    package func changes(shard: Int) -> String { "\(path)/changes-\(DataDirectory.twoDigits(shard))" }
}
