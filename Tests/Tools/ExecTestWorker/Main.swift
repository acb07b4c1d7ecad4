import CLinux
import Commands
import Glibc
import Host

@testable internal import Exec
@testable internal import Transfers

/// A stand-in for a worker: it runs programs under guardians, and may be killed.
///
/// ```
/// ExecTestWorker run LOCK GRACE-MS leave|children PROGRAM ARGUMENT…   prints the events
/// ExecTestWorker many COUNT LOCK-PREFIX PROGRAM ARGUMENT…   starts COUNT at once; `ready` when all run
/// ExecTestWorker bench SECONDS AT-ONCE LOCK-PREFIX                     runs of /bin/true, beside posix_spawn
/// ```
@main enum ExecTestWorker {
    static func main() async throws {
        let arguments = CommandLine.arguments
        switch arguments.dropFirst().first {
        case "run" where arguments.count > 5: try await run(Array(arguments.dropFirst(2)))
        case "many" where arguments.count > 4: try await many(Array(arguments.dropFirst(2)))
        case "bench" where arguments.count > 4:
            try await bench(seconds: Int(arguments[2]) ?? 3, atOnce: Int(arguments[3]) ?? 1, prefix: arguments[4])
        default:
            say("usage: ExecTestWorker run|many|bench …")
            exit(64)
        }
    }

    static func program(_ lock: String, _ arguments: [String]) throws -> GuardedProgram {
        let file = try CheckedProgram(arguments[0])
        return GuardedProgram(
            path: arguments[0], device: file.device, inode: file.inode, arguments: arguments,
            environment: ["PATH=/usr/bin:/bin", "SLUICE_TEST=\(lock)"], directory: try OpenFile("/", O_RDONLY),
            lockPath: lock)
    }

    private static func run(_ arguments: [String]) async throws {
        var program = try program(arguments[0], Array(arguments.dropFirst(3)))
        program.grace = .milliseconds(Int(arguments[1]) ?? 1000)
        program.leavesDaemons = arguments[2] == "leave"
        let process = GuardedProcess(program)
        while let event = await process.next() {
            switch event {
            case .output(_, let bytes): say("output \(String(decoding: bytes.prefix(100), as: UTF8.self))")
            case .started(let pid): say("started \(pid)")
            case .waitingForLock: say("waiting")
            case .report: break
            case .ended(let end): say("ended \(end)")
            }
        }
    }

    private static func many(_ arguments: [String]) async throws {
        let count = Int(arguments[0]) ?? 1
        // Memory of a worker, which must not become that of its guardians.
        var heap = [UInt8](repeating: 1, count: 64 << 20)
        var processes: [GuardedProcess] = []
        for index in 0..<count {
            let process = GuardedProcess(try program("\(arguments[1])\(index)", Array(arguments.dropFirst(2))))
            guard case .started = await process.next() else {
                say("failed \(index)")
                exit(1)
            }
            processes.append(process)
        }
        // Written to after the forks: each page is a new one of this process now.
        for index in stride(from: 0, to: heap.count, by: 4096) { heap[index] &+= 1 }
        say("ready")
        _ = readLine()
        for process in processes { process.cancel(grace: .seconds(1)) }
        for process in processes { while await process.next() != nil {} }
        withExtendedLifetime(heap) {}
        say("done")
    }

    // MARK: Figures

    private static func bench(seconds: Int, atOnce: Int, prefix: String) async throws {
        let heap = [UInt8](repeating: 1, count: 16 << 20)
        for _ in 0..<3 {
            let spawned = await rate(seconds, atOnce) { _ in await BlockingPool.shared.run { spawn() } }
            let guarded = try await rate(seconds, atOnce) { index in
                let process = GuardedProcess(try program("\(prefix)\(index)", ["/usr/bin/true"]))
                while let event = await process.next() {
                    if case .ended(let end) = event, end.outcome != .exited(0) { say("\(end)") }
                }
            }
            say(
                "posix_spawn \(Int(spawned.rate))/s (\(Int(spawned.processor)) us of processor each), guarded "
                    + "\(Int(guarded.rate))/s (\(Int(guarded.processor)) us), "
                    + "\(Int(100 * guarded.rate / spawned.rate)) %"
            )
        }
        withExtendedLifetime(heap) {}
    }

    private static func rate(
        _ seconds: Int, _ atOnce: Int, _ body: @escaping @Sendable (Int) async throws -> Void
    ) async rethrows -> (rate: Double, processor: Double) {
        let began = ContinuousClock.now
        let used = processorTime()
        let end = began + .seconds(seconds)
        let count = try await withThrowingTaskGroup(of: Int.self) { group in
            for index in 0..<atOnce {
                group.addTask {
                    var count = 0
                    while ContinuousClock.now < end {
                        try await body(index)
                        count += 1
                    }
                    return count
                }
            }
            return try await group.reduce(0, +)
        }
        let elapsed = (ContinuousClock.now - began) / .seconds(1)
        return (Double(count) / elapsed, (processorTime() - used) / Double(count))
    }

    /// Microseconds of this process and its children.
    private static func processorTime() -> Double {
        var total = 0.0
        for whose in [RUSAGE_SELF, RUSAGE_CHILDREN] {
            var usage = rusage()
            getrusage(__rusage_who_t(whose.rawValue), &usage)
            for time in [usage.ru_utime, usage.ru_stime] { total += Double(time.tv_sec) * 1e6 + Double(time.tv_usec) }
        }
        return total
    }

    private static func spawn() {
        var pid: pid_t = 0
        var arguments: [UnsafeMutablePointer<CChar>?] = [strdup("/usr/bin/true"), nil]
        posix_spawn(&pid, "/usr/bin/true", nil, nil, &arguments, nil)
        free(arguments[0])
        var status: CInt = 0
        waitpid(pid, &status, 0)
    }
}

/// Prints a line at once.
private func say(_ text: String) {
    let bytes = Array("\(text)\n".utf8)
    _ = write(1, bytes, bytes.count)
}
