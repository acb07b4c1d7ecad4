internal import CLinux
internal import Glibc
internal import Host

/// The limits of this process on descriptors and threads. libzmq, libdispatch and SQLite abort or wait forever at them, so a
/// command asks for what it needs before it starts anything.
struct ProcessLimits: Equatable {
    /// Files of eight shards with two connections of three files each, of sockets and transfers.
    private static let serviceDescriptors: rlim_t = 256

    // Threads counted under load (20,000 no-ops, 40 copies, 2 cores), and some more.
    static let coordinator = ProcessLimits(descriptors: serviceDescriptors, threads: 20)
    static let worker = ProcessLimits(descriptors: serviceDescriptors, threads: 32)
    static let door = ProcessLimits(descriptors: serviceDescriptors, threads: 56)
    /// A command that reads or writes the store: a connection to each shard, and the sockets of hints and events.
    static let client = ProcessLimits(descriptors: 64, threads: 16)

    let descriptors: rlim_t
    /// With those of child processes, which share the limits of a control group and of a user.
    let threads: CInt

    /// For `up` with its children.
    static func supervisor(workers: Int, hasDoor: Bool) -> ProcessLimits {
        ProcessLimits(
            descriptors: serviceDescriptors,
            threads: 16 + coordinator.threads + CInt(workers) * worker.threads + (hasDoor ? door.threads : 0))
    }

    /// - Throws: ``ExitError`` `tryAgain` that names the limit.
    func require() throws {
        var limit = rlimit()
        if getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0, limit.rlim_cur < descriptors {
            throw ExitError(
                .tryAgain,
                "this process may have \(limit.rlim_cur) descriptors, and \(descriptors) are needed at least; raise the limit "
                    + "(ulimit -n, LimitNOFILE= of a unit)")
        }
        let started = clinux_probe_threads(threads)
        guard started < threads else { return }
        throw ExitError(
            .tryAgain,
            "this process may start \(started) more threads and processes, and \(threads) are needed at least; raise the limit "
                + Self.name(of: ControlGroups(of: getpid()).tightestProcessLimit, started: Int(started)))
    }

    /// The limit that has stopped the threads.
    static func name(of group: (directory: String, max: Int, current: Int)?, started: Int) -> String {
        if let group, group.max - group.current <= started {
            return
                "pids.max of \(group.directory), which is \(group.max) (TasksMax= of a unit, --pids-limit of a container)"
        }
        return "of the user (ulimit -u) or of the system (kernel.threads-max)"
    }
}
