internal import ArgumentParser
internal import CLinux
internal import Commands
internal import Console
internal import Glibc
internal import Host
internal import Membership
internal import Queue
internal import Store

struct BenchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bench",
        abstract: "Measure this machine.",
        discussion: """
            Starts real processes on a temporary data directory, and removes it afterwards. “queue” measures the commands a \
            second that are submitted and executed, “latency” the time from a commit to the start of its operation, \
            “upload” transfers to a local nginx, compared with curl and rclone, and “flow” commands that wait for others. These \
            figures of queue, upload and flow can be chosen:
              drain     no-ops executed, all transitions recorded, one subscriber to everything
              bulk      JSON lines submitted
              single    single submits by 1 and 8 processes, compared with append + fdatasync
              scaling   20 ms no-ops with 1, 2 and 4 workers; a worker that joins
              start     a worker's start and memory
              backlog   a backlog of a million: start, memory, drain rate
              recovery  kill -9 of a worker to the next execution of its commands
              large     one file of 2 GB, compared with curl
              small     5,000 files of 64 KB, compared with rclone
              memory    a worker's memory with 64 uploads of 1 GB
              submit    a flow of 10,000 nodes from a file
              fan       fan-out and fan-in of 10,000 and 100,000 no-ops
              chain     1,000 no-ops, one after the other
              cascade   a cancelled root to the end of its 100,000 nodes
              keys      10,000 ordering keys, and one
              batch     a batch, compared with commands outside of one
              schedules 10,000 schedules that are due at once

            EXAMPLES
              sluice bench
              sluice bench queue --figure drain --seconds 120
              sluice bench queue --figure recovery --kills 200 --json
              sluice bench latency
              sluice bench queue --store postgres:///queue
            """,
        subcommands: [])

    enum Subject: String, ExpressibleByArgument, CaseIterable {
        case queue, latency, upload, flow
    }

    enum Figure: String, ExpressibleByArgument, CaseIterable {
        case drain, bulk, single, scaling, start, backlog, recovery
        case large, small, memory
        case submit, fan, chain, cascade, keys, batch, schedules

        var subject: Subject {
            switch self {
            case .drain, .bulk, .single, .scaling, .start, .backlog, .recovery: .queue
            case .large, .small, .memory: .upload
            case .submit, .fan, .chain, .cascade, .keys, .batch, .schedules: .flow
            }
        }
    }

    @OptionGroup var print: PrintOptions

    @Argument(help: "What to measure: queue, latency, upload or flow.")
    var subject: Subject = .queue

    @Option(
        name: .long, parsing: .singleValue,
        help: "Only this figure of queue, upload or flow; may be given several times. (default: all)")
    var figure: [Figure] = []

    @Option(name: .long, help: ArgumentHelp("Duration of the figures that are measured by time.", valueName: "count"))
    var seconds = 60

    @Option(name: .long, help: ArgumentHelp("Worker processes.", valueName: "count"))
    var workers = 2

    @Option(
        name: .long,
        help: ArgumentHelp("Kills of the recovery figure, of workers with every slot full.", valueName: "count"))
    var kills = 200

    @Option(name: .long, help: ArgumentHelp("Commands of the backlog figure.", valueName: "count"))
    var backlog = 1_000_000

    @Option(
        name: .long,
        help: ArgumentHelp("Upload: the part of its files that is sent, for a quick look.", valueName: "percent"))
    var scale = 100

    @Option(
        name: .long,
        help: ArgumentHelp("Parent of the temporary data (default: $TMPDIR, else /var/tmp).", valueName: "dir"),
        completion: .directory)
    var directory: String?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Measure stores in this PostgreSQL database, each in a schema of its own, which is removed.",
            valueName: "url"))
    var store: String?

    func validate() throws {
        if let store { try DataOptions.refuse(store: store, named: "--store") }
        guard (1...3600).contains(seconds) else { throw ValidationError("--seconds must be from 1 to 3600.") }
        guard (1...64).contains(workers) else { throw ValidationError("--workers must be from 1 to 64.") }
        guard (1...100).contains(scale) else { throw ValidationError("--scale must be from 1 to 100 percent.") }
        guard (1...100_000).contains(kills) else { throw ValidationError("--kills must be from 1 to 100000.") }
        guard (10_000...100_000_000).contains(backlog) else {
            throw ValidationError("--backlog must be from 10000 to 100000000.")
        }
        if let other = figure.first(where: { $0.subject != subject }) {
            throw ValidationError("“\(other.rawValue)” is not a figure of “\(subject.rawValue)”.")
        }
    }

    func run() async throws {
        let workspace = try BenchWorkspace(parent: directory, database: store)
        SignalHandling.exits { workspace.removeAll() }
        defer { workspace.removeAll() }
        let facts = try BenchEnvironment(workspace)
        if !print.json { for line in facts.lines { Output.line(line) } }
        Output.flush()
        var results: [BenchResult] = []
        for body in bodies(workspace) {
            Diagnostics.showStatus { _ in "measuring …" }
            let stolen = StolenTime()
            var figures: [BenchResult]
            do {
                figures = try await body()
            } catch {
                await SignalHandling.letExit()
                throw error
            }
            if let result = stolen.result { figures.append(result) }
            Diagnostics.clearStatus()
            results += figures
            if !print.json { show(figures) }
        }
        if print.json {
            Output.line(JSONValue.object(facts.members + [.init("figures", .array(results.map(\.json)))]).bytes)
        }
        if results.contains(where: { $0.isMet == false }) { throw ExitError(.failed, nil) }
    }

    private func bodies(_ workspace: BenchWorkspace) -> [() async throws -> [BenchResult]] {
        switch subject {
        case .latency: [{ try await LatencyBench(workspace: workspace).run() }]
        case .queue, .upload, .flow:
            (figure.isEmpty ? Figure.allCases.filter { $0.subject == subject } : figure).map { figure in
                let body = body(of: figure, workspace)
                return { try await onBenchThread(body) }
            }
        }
    }

    private func body(of figure: Figure, _ workspace: BenchWorkspace) -> @Sendable () throws -> [BenchResult] {
        let upload = UploadBench(workspace: workspace, percent: scale)
        let flow = FlowBench(workspace: workspace, workers: workers)
        let related = RelatedDrainBench(workspace: workspace, workers: workers)
        let (seconds, workers, kills, backlog) = (seconds, workers, kills, backlog)
        return switch figure {
        case .drain: { try DrainBench(workspace: workspace, seconds: seconds, workers: workers).run() }
        case .bulk: { try BulkBench(workspace: workspace).run() }
        case .single: { try SingleBench(workspace: workspace).run() }
        case .scaling: { try ScalingBench(workspace: workspace).run() }
        case .start: { try StartBench(workspace: workspace).run() }
        case .backlog: { try BacklogBench(workspace: workspace, size: backlog, workers: workers).run() }
        case .recovery: { try RecoveryBench(workspace: workspace, kills: kills).run() }
        case .large: { try upload.large() }
        case .small: { try upload.small() }
        case .memory: { try upload.memory() }
        case .submit: { try flow.submit() }
        case .fan: { try flow.fan() }
        case .chain: { try flow.chain() }
        case .cascade: { try flow.cascade() }
        case .keys: { try related.keys() }
        case .batch: { try related.batch() }
        case .schedules: { try ScheduleBench(workspace: workspace).run() }
        }
    }

    private func show(_ results: [BenchResult]) {
        for result in results {
            Output.line(
                TerminalText.fit(result.name, width: 44) + TerminalText.fit(result.text, width: 16, alignRight: true)
                    + "  "
                    + result.verdict)
        }
        Output.flush()
    }
}

/// The conditions of a figure: machine, kernel, file system, versions, durability, date.
struct BenchEnvironment {
    let members: [JSONValue.Member]

    /// - Parameter workspace: the directory of the bench, in which a store is made to read its pragmas.
    init(_ workspace: BenchWorkspace) throws {
        let path = workspace.path
        var name = utsname()
        uname(&name)
        let kernel = withUnsafeBytes(of: &name.release) { Self.text($0) }
        let machine = withUnsafeBytes(of: &name.machine) { Self.text($0) }
        let libraries = Libraries.current
        members = [
            .init("date", .string(Timestamp.now.description)),
            .init("machine", .string("\(Self.processor), \(sysconf(CInt(_SC_NPROCESSORS_ONLN))) cores, \(machine)")),
            .init(
                "memory",
                .string(Figures.bytes(Int64(sysconf(CInt(_SC_PHYS_PAGES))) * Int64(sysconf(CInt(_SC_PAGESIZE)))))),
            .init("kernel", .string(kernel)),
            .init("fileSystem", .string(Self.fileSystem(of: path))),
            .init("sluice", .string(SluiceVersion.current)),
            .init("sqlite", .string(libraries.sqlite)),
            .init("zeromq", .string(libraries.zeromq)),
            .init("swift", .string(libraries.swift)),
            .init("build", .string(Self.build)),
            .init("durability", .string(try Self.durability(in: workspace))),
        ]
    }

    var lines: [String] {
        members.map { TerminalText.fit($0.name, width: 12) + ($0.value.string ?? $0.value.text) } + [""]
    }

    /// The pragmas of a writing connection.
    private static func durability(in workspace: BenchWorkspace) throws -> String {
        let opened = try workspace.newStore()
        defer { workspace.clear(opened.directory.path) }
        return try opened.health.durability()
    }

    private static var build: String {
        #if DEBUG
            "debug: figures of a release build are better"
        #else
            "release"
        #endif
    }

    private static var processor: String {
        let text = SmallFile.read("/proc/cpuinfo") ?? ""
        for line in text.split(separator: "\n") where line.hasPrefix("model name") {
            return line.split(separator: ":", maxSplits: 1).last.map { String($0.drop { $0 == " " }) } ?? "unknown"
        }
        return "unknown"
    }

    /// The type of the file system that holds `path`: the mount with the longest prefix.
    private static func fileSystem(of path: String) -> String {
        var best = (length: -1, text: "unknown")
        for line in (SmallFile.read("/proc/mounts") ?? "").split(separator: "\n") {
            let fields = line.split(separator: " ")
            guard fields.count > 2 else { continue }
            let point = String(fields[1])
            let isPrefix = point == "/" || "\(path)/".beginsWithBytes(of: point + "/")
            if isPrefix, point.utf8.count > best.length { best = (point.utf8.count, "\(fields[2]) on \(point)") }
        }
        return best.text
    }

    private static func text(_ bytes: UnsafeRawBufferPointer) -> String {
        String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }
}
