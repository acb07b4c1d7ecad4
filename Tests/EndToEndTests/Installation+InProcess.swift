import Foundation
import Host
import SluiceCommand
import Synchronization
import TestSupport

/// Command lines that run in the process of the tests: a debug build needs longer to start a process than for most of them.
extension Installation {
    /// Subcommands with a process of their own: services, those that run until a signal or start processes, `fetch`, which
    /// waits, and those that open files of the store beside SQLite. Closing such a file would release the locks of this
    /// process on it (fcntl_locking(2)).
    private static let withProcess: Set<String> = [
        "up", "coordinator", "worker", "door", "watch", "bench", "fetch", "backup", "restore", "prune", "doctor",
    ]
    /// `SLUICE_BIN` tests another executable.
    static let testsOtherExecutable = ProcessInfo.processInfo.environment["SLUICE_BIN"] != nil
    /// A run changes the working directory, so there is one at a time.
    private static let isRunning = Atomic(false)

    /// Runs `sluice` with these arguments to its end, as a process would.
    /// - Returns: nil where the command line needs a process of its own: it has one of those subcommands, waits for other
    ///   processes, or another command line runs in this process.
    func runInProcess(
        _ arguments: [String], input: [UInt8]?, within limit: Duration
    ) async throws -> Finished? {
        guard !Self.testsOtherExecutable, Self.withProcess.isDisjoint(with: arguments),
            !arguments.contains(where: { $0.hasPrefix("--wait") }),
            Self.isRunning.compareExchange(expected: false, desired: true, ordering: .acquiring).exchanged
        else { return nil }
        defer { Self.isRunning.store(false, ordering: .releasing) }

        var path = "/dev/null"
        if let input {
            path = "\(nextLog()).in"
            try Data(input).write(to: URL(fileURLWithPath: path))
        }
        let (descriptor, before) = (try openFile(path, O_RDONLY), try openDirectory("."))
        defer {
            fchdir(before)
            for descriptor in [descriptor, before] { close(descriptor) }
        }
        guard chdir(directory.path) == 0 else { throw Missed("cannot change to \(directory.path)") }
        var variables = ["SLUICE_DATA": data]
        variables["SLUICE_STORE"] = serverStore?.url
        let start = MonotonicTime.now
        let result = await CommandLineRun.run(arguments, variables: variables, input: descriptor)
        guard MonotonicTime.now - start < limit else {
            throw Missed("“sluice \(arguments.joined(separator: " "))” took longer than \(limit)")
        }
        return Finished(
            ending: .exited(result.code), output: String(decoding: result.output, as: UTF8.self),
            errors: String(decoding: result.errors, as: UTF8.self))
    }
}
