import Commands
import Foundation
import Host
import Sluice
import Store
import Synchronization
import TestSupport
import Testing

/// A data directory and the real processes on it, as a person would start them.
final class Installation: Sendable {
    /// The result of a command line that has ended.
    struct Finished: Sendable {
        var ending: ChildProcess.Exit
        var output: String
        var errors: String

        var code: Int32? { if case .exited(let code) = ending { code } else { nil } }
        var lines: [String] { output.split(separator: "\n").map(String.init) }
        var ids: [CommandID] { lines.compactMap { CommandID($0) } }

        /// The whole output as one JSON value.
        func json() throws -> JSONValue { try JSONValue(parsing: Array(output.utf8)) }
    }

    /// The directory of the executables: that of the test bundle, or `SLUICE_BIN`.
    static let bin: String =
        ProcessInfo.processInfo.environment["SLUICE_BIN"]
        ?? URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent().path
    /// The root of the repository, for the README and the scripts.
    static let repository = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().path

    let directory: TemporaryDirectory
    let data: String
    /// The network bed in whose client network everything runs; nil for the network of this machine.
    private let bed: NetworkBed?
    private let runsInProcess: Bool
    /// Nil: the store is in the data directory.
    let serverStore: ServerStore?
    private let children = Mutex<[ChildProcess]>([])
    private let receivers = Mutex<[MisbehavingReceiver]>([])
    private let started = Atomic(0)

    /// - Parameters:
    ///   - data: the data directory, relative to the temporary directory.
    ///   - bed: the network bed in whose client network everything runs; the caller ends it.
    ///   - inProcess: false where each command line is a process of its own: for tests of the files of the store, and of
    ///     file systems that hang or are full.
    init(
        data: String = "data", on bed: NetworkBed? = nil, inProcess: Bool = true, store: ServerStore? = nil
    ) throws {
        directory = try TemporaryDirectory("e2e")
        serverStore = store
        self.data = "\(directory.path)/\(data)"
        self.bed = bed
        runsInProcess = inProcess && bed == nil
    }

    /// Runs `body` on a new installation, which is removed also after a failure. A failure prints the logs of
    /// the processes.
    static func with(
        data: String = "data", on bed: NetworkBed? = nil, inProcess: Bool = true, store: ServerStore? = nil,
        _ body: (Installation) async throws -> Void
    ) async throws {
        let store: ServerStore? = if let store { store } else { ServerStore.isAsked ? try await ServerStore() : nil }
        let installation = try Installation(data: data, on: bed, inProcess: inProcess, store: store)
        do {
            try await body(installation)
        } catch {
            print(installation.logs)
            await installation.finish()
            throw error
        }
        await installation.finish()
    }

    private func finish() async {
        for child in children.withLock({ $0 }) { await child.finish() }
        for receiver in receivers.withLock({ $0 }) { await receiver.stop() }
        serverStore?.remove()
        directory.remove()
    }

    /// The last log lines of each long-lived process.
    var logs: String {
        children.withLock { $0 }.filter { !Self.services.isDisjoint(with: $0.arguments.dropFirst()) }.map {
            child in
            let lines = child.errors.split(separator: "\n").suffix(30).joined(separator: "\n")
            return
                "── \(child.name) (pid \(child.pid), \(child.ending.map(String.init(describing:)) ?? "running"))\n\(lines)"
        }.joined(separator: "\n")
    }

    private static let services: Set<String> = ["up", "coordinator", "worker", "door"]

    // MARK: Processes

    private func environment(_ more: [String: String?]) -> [String: String?] {
        ["SLUICE_DATA": data, "SLUICE_STORE": serverStore?.url, "SLUICE_TEST_DROP": nil, "TERM": "xterm"]
            .merging(more) { $1 }
    }

    /// The path of the input and output of a program, without the ending.
    func nextLog() -> String { "\(directory.path)/process-\(started.add(1, ordering: .relaxed).newValue)" }

    /// Starts a program; it is killed when the test ends.
    func start(
        program: String, _ arguments: [String], environment more: [String: String?] = [:], input: [UInt8]? = nil,
        terminal: Pseudoterminal? = nil
    ) throws -> ChildProcess {
        let child = try ChildProcess(
            (bed?.prefix(.client) ?? []) + [program] + arguments, environment: environment(more),
            directory: directory.path,
            input: input,
            terminal: terminal, log: nextLog())
        children.withLock { $0.append(child) }
        return child
    }

    /// Starts `sluice` with these arguments.
    func start(
        _ arguments: String..., environment: [String: String?] = [:], input: [UInt8]? = nil,
        terminal: Pseudoterminal? = nil
    ) throws -> ChildProcess {
        try start(
            program: "\(Self.bin)/sluice", arguments, environment: environment, input: input, terminal: terminal)
    }

    /// Runs a program to its end. `sluice` runs in this process where it can.
    func run(
        program: String, _ arguments: [String], environment: [String: String?] = [:], input: [UInt8]? = nil,
        within limit: Duration = .seconds(60)
    ) async throws -> Finished {
        if runsInProcess, environment.isEmpty, program == "\(Self.bin)/sluice",
            let finished = try await runInProcess(arguments, input: input, within: limit)
        {
            return finished
        }
        let child = try start(program: program, arguments, environment: environment, input: input)
        return try await finished(child, within: limit)
    }

    /// Runs `sluice` with these arguments to its end.
    func sluice(
        _ arguments: String..., environment: [String: String?] = [:], input: String? = nil,
        within limit: Duration = .seconds(60)
    ) async throws -> Finished {
        try await run(
            program: "\(Self.bin)/sluice", arguments, environment: environment, input: input.map { Array($0.utf8) },
            within: limit)
    }

    func finished(_ child: ChildProcess, within limit: Duration = .seconds(60)) async throws -> Finished {
        let ending = try await child.end(within: limit)
        return Finished(ending: ending, output: child.output, errors: child.errors)
    }

    /// A scripted destination; it stops when the test ends.
    /// - Parameter buffer: SO_RCVBUF of its connections; nil for the system's default, which is megabytes on
    /// loopback.
    func receiver(hashes: Bool = true, port: Int = 0, buffer: Int32? = nil) async throws -> MisbehavingReceiver {
        var options = MisbehavingReceiver.Options()
        options.port = port
        options.hashes = hashes
        options.receiveBuffer = buffer
        let receiver = try await MisbehavingReceiver(options)
        receivers.withLock { $0.append(receiver) }
        return receiver
    }

    // MARK: Services

    /// Starts `sluice up` and waits until its workers are ready.
    func up(
        workers: Int = 1, _ arguments: String..., environment: [String: String?] = [:]
    ) async throws -> ChildProcess {
        let child = try start(
            program: "\(Self.bin)/sluice", ["up", "--workers", "\(workers)"] + arguments, environment: environment)
        try await ready(workers: workers, child)
        return child
    }

    func coordinator(environment: [String: String?] = [:]) async throws -> ChildProcess {
        let child = try service(["coordinator"], environment)
        try await until("the coordinator") {
            if let ending = child.ending { throw Missed("the coordinator ended: \(ending)\n\(child.errors)") }
            return try await self.status()?["coordinator"]?["pid"]?.integer == Int64(child.pid)
        }
        return child
    }

    private func service(_ arguments: [String], _ environment: [String: String?]) throws -> ChildProcess {
        try start(program: "\(Self.bin)/sluice", arguments, environment: environment)
    }

    func worker(_ arguments: String..., environment: [String: String?] = [:]) async throws -> ChildProcess {
        let child = try service(["worker"] + arguments, environment)
        try await ready(child)
        return child
    }

    /// Starts the only worker under strace, and waits until it has a seat.
    /// - Parameter options: the options of strace that select the system calls.
    /// - Returns: nil in a container without ptrace, where the test can conclude nothing.
    func tracedWorker(_ options: String..., to trace: String) async throws -> ChildProcess? {
        let worker = try start(
            program: #require(program("strace")),
            ["-f", "-o", trace] + options + ["\(Self.bin)/sluice", "worker"])
        try await until("the worker") {
            let count = try await self.workers().count
            return worker.ending != nil || count == 1
        }
        if worker.ending == nil { return worker }
        #expect(worker.errors.contains("ptrace"), "\(worker.errors)")
        if requiresPeers { Issue.record("strace may trace nothing here: \(worker.errors)") }
        return nil
    }

    /// Waits until this process has taken a seat as a worker.
    func ready(_ worker: ChildProcess) async throws {
        try await until("the worker") {
            if let ending = worker.ending { throw Missed("the worker ended: \(ending)\n\(worker.errors)") }
            return try await self.workers().contains { $0 == worker.pid }
        }
    }

    /// Waits until a coordinator and this number of workers are ready.
    func ready(workers: Int, _ parent: ChildProcess) async throws {
        try await until("\(workers) workers") {
            if let ending = parent.ending { throw Missed("\(parent.name) ended: \(ending)\n\(parent.errors)") }
            guard try await self.status()?["coordinator"]?["pid"]?.integer != nil else { return false }
            return try await self.workers().count == workers
        }
    }

    /// The output of `sluice status --json`; nil while there is no store.
    func status() async throws -> JSONValue? {
        let finished = try await sluice("status", "--json")
        return finished.code == 0 ? try finished.json() : nil
    }

    /// The pids of the workers that hold a seat.
    func workers() async throws -> [Int32] {
        try await status()?["workers"]?.elements?
            .filter { $0["state"]?.string == "ready" }
            .compactMap { $0["pid"]?.integer.map { Int32($0) } } ?? []
    }

    // MARK: The store, read in this process

    /// Opens the store of the installation in the process of the test, with a clock that the test sets.
    func store() throws -> any CommandStore {
        if let serverStore { return try PostgreSQLStore(url: serverStore.url, clock: SettableClock()) }
        return try files()
    }

    /// ``store()`` where it is in the data directory.
    func files() throws -> SQLiteStore {
        try SQLiteStore(directory: DataDirectory(path: data), create: false, clock: SettableClock())
    }

    /// Waits until a command has one of these statuses.
    @discardableResult
    func await(
        _ id: CommandID, _ statuses: CommandStatus..., in store: any CommandStore, within limit: Duration = .seconds(60)
    ) async throws -> Command {
        try await awaited("\(id) as \(statuses.map(\.name))", within: limit) {
            guard let command = try store.command(id) else { throw Missed("there is no command \(id)") }
            return statuses.contains(command.status) ? command : nil
        }
    }

    /// Submits a no-op of middle QoS that takes 1.5 s and one of low QoS that takes a minute, and waits until
    /// both run.
    func submitLongNoops() async throws -> (middle: CommandID, low: CommandID) {
        func submit(_ milliseconds: Int, _ qos: String) async throws -> CommandID {
            let payload = #"{"milliseconds":\#(milliseconds)}"#
            return try #require(try await sluice("submit", "noop", "--payload", payload, "--qos", qos).ids.first)
        }
        let (middle, low) = (try await submit(1500, "default"), try await submit(60_000, "background"))
        let store = try store()
        for id in [middle, low] { try await self.await(id, .sent, in: store) }
        return (middle, low)
    }

    /// Waits until every command has a final status.
    func drained(_ store: any CommandStore, within limit: Duration = .seconds(120)) async throws {
        try await until("the end of every command", within: limit) {
            let counts = try store.counts()
            return CommandStatus.allCases.filter { !$0.isFinal }.allSatisfy { counts[$0] == 0 }
        }
    }
}

extension Installation {
    /// The time at which a service logged a message, by the clock of the service; nil as long as it has not.
    func logged(_ message: String, by service: ChildProcess) -> Timestamp? {
        for line in service.errors.split(separator: "\n") where line.contains(message) {
            // Skip a line that is not complete yet.
            guard let entry = try? JSONValue(parsing: Array(line.utf8)), entry["message"]?.string == message,
                let at = entry["at"]?.string
            else { continue }
            return Timestamp(printed: at)
        }
        return nil
    }
}

extension Timestamp {
    /// Parses the form of ``description``.
    init?(printed text: String) {
        let format = ISO8601DateFormatter()
        format.formatOptions = [.withInternetDateTime, .withFractionalSeconds]
        guard let date = format.date(from: text) else { return nil }
        self.init(milliseconds: Int64((date.timeIntervalSince1970 * 1000).rounded()))
    }
}

/// The end-to-end tests start many processes and measure times, so they run one after the other.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct EndToEndTests {}

extension Tag {
    /// Compares times or rates: `deploy/test` runs these suites while nothing else runs.
    @Tag static var measuresTime: Self
}
