internal import CSimulation
internal import Commands
internal import Glibc
internal import Host
internal import Store
internal import Synchronization

/// The result of one seed.
struct SeedResult: Sendable {
    var seed: UInt64
    /// Of the turns of its threads, and of the transitions of its store; nil where the process died.
    var hash: String?
    var turns: Int64 = 0
    var virtualSeconds: Int64 = 0
    var counters: [String: Int64] = [:]
    var violation: Violation?
    /// The last transitions of the command of the violation.
    var transitions: [String] = []
    /// Standard error of a process that died.
    var errors = ""
}

/// Runs a seed in a process of its own, so that a trap is a finding, and so that whatever a dead worker leaves ends with it.
enum SeedRun {
    /// No seed takes as long, in real time.
    private static let timeout: UInt32 = 120

    // MARK: The parent

    /// - Precondition: this process has one thread.
    static func run(_ seed: UInt64, broken: Break?) -> SeedResult {
        let (report, errors) = (Pipe(), Pipe())
        let pid = simulation_fork()
        guard pid >= 0 else { fatalError("a process cannot be started: \(errno)") }
        if pid == 0 {
            close(report.reader)
            close(errors.reader)
            dup2(errors.writer, STDERR_FILENO)
            runHere(seed, broken, report: report.writer)
        }
        close(report.writer)
        close(errors.writer)
        let texts = read([report.reader, errors.reader])
        var status: CInt = 0
        while waitpid(pid, &status, 0) < 0, errno == EINTR {}
        var result = SeedResult(seed: seed)
        result.errors = String(decoding: texts[1], as: UTF8.self)
        if let value = try? JSONValue(parsing: texts[0]) {
            result.read(value)
        } else {
            result.violation = Violation(oracle: "trap", words: describe(status))
        }
        return result
    }

    private static func describe(_ status: CInt) -> String {
        switch status & 0x7F {
        case 0: "the process exited with \(status >> 8 & 0xFF) and without a report"
        case SIGALRM: "the process was still running after \(timeout) s"
        case let signal: "the process died of signal \(signal)"
        }
    }

    private struct Pipe {
        let reader: CInt
        let writer: CInt

        init() {
            var ends: [CInt] = [0, 0]
            guard pipe(&ends) == 0 else { fatalError("a pipe cannot be made: \(errno)") }
            (reader, writer) = (ends[0], ends[1])
        }
    }

    /// Reads descriptors to their ends, and closes them.
    private static func read(_ descriptors: [CInt]) -> [[UInt8]] {
        var texts = descriptors.map { _ in [UInt8]() }
        var open = descriptors
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while !open.isEmpty {
            var polled = open.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
            guard poll(&polled, nfds_t(polled.count), -1) >= 0 else { continue }
            for found in polled where found.revents != 0 {
                let count = Glibc.read(found.fd, &buffer, buffer.count)
                if count > 0, let index = descriptors.firstIndex(of: found.fd) {
                    texts[index] += buffer.prefix(count)
                } else if count <= 0 {
                    close(found.fd)
                    open.removeAll { $0 == found.fd }
                }
            }
        }
        return texts
    }

    // MARK: The child

    private static func runHere(_ seed: UInt64, _ broken: Break?, report: CInt) -> Never {
        alarm(timeout)
        simulation_use_one_processor()
        simulation_begin(seed)
        let run = Run(Plan(seed: seed, broken: broken), broken, report)
        run.world.run()
        run.finish(nil)
    }

    private final class Run {
        private(set) var world: World!
        private let report: CInt

        init(_ plan: Plan, _ broken: Break?, _ report: CInt) {
            self.report = report
            // The first violation ends the process, on whichever thread.
            nonisolated(unsafe) let run = self
            world = World(plan, broken: broken) { run.finish($0) }
        }

        func finish(_ violation: Violation?) -> Never {
            var members: [JSONValue.Member] = [
                .init("hash", .string(String(simulation_hash(), radix: 16))),
                .init("turns", .integer(Int64(simulation_turns()))),
                .init("virtualSeconds", .integer(simulation_now() / 1_000_000_000)),
                .init(
                    "counters",
                    .object(world.ledger.counters.sorted { $0.key < $1.key }.map { .init($0, .integer(Int64($1))) })),
            ]
            if let violation {
                let timeline = violation.id.map { world.store.timeline($0, before: nil, limit: 12) } ?? []
                members += [
                    .init("oracle", .string(violation.oracle)), .init("words", .string(violation.words)),
                    .init("id", violation.id.map { .string($0.description) } ?? .null),
                    .init("transitions", .array(timeline.map { .string($0.line) })),
                ]
            }
            let text = JSONValue.object(members).bytes
            _ = write(report, text, text.count)
            _exit(0)
        }
    }
}

extension SeedResult {
    fileprivate mutating func read(_ value: JSONValue) {
        hash = value["hash"]?.string
        turns = value["turns"]?.integer ?? 0
        virtualSeconds = value["virtualSeconds"]?.integer ?? 0
        for member in value["counters"]?.members ?? [] { counters[member.name] = member.value.integer }
        if let oracle = value["oracle"]?.string {
            violation = Violation(
                oracle: oracle, id: value["id"]?.string.flatMap { CommandID($0) },
                words: value["words"]?.string ?? "")
            transitions = value["transitions"]?.elements?.compactMap(\.string) ?? []
        }
    }
}

extension Transition {
    fileprivate var line: String {
        "\(at) \(seq) \(status) claim \(claim)" + (reason.map { ": \($0)" } ?? "")
    }
}

/// Mixes a transition into the hash of the run.
func simulationNote(_ transition: Transition) {
    simulation_note(transition.id.low)
    simulation_note(UInt64(transition.seq) << 32 | UInt64(transition.claim) << 8 | UInt64(transition.status.rawValue))
}
