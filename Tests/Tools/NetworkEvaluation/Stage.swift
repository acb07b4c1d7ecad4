import BuiltIn
import Commands
import Foundation
import Host
import Sluice
import TestSupport

/// The environment of one run: the network bed, the destinations and Sluice, with the steps of scenarios. A
/// scenario lets time pass by ``pause(_:)`` and ``until(second:)``, because its schedule follows the clock.
final class Stage {
    let scenario: Scenario
    let job: Job
    let directory: TemporaryDirectory
    let bed: NetworkBed
    let destinations: [BedDestination]
    let client: SluiceClient
    var record: RunRecord
    private(set) var begin = MonotonicTime.now
    private(set) var submitted: [CommandID] = []
    private let data: String
    private var up: ChildProcess?
    private let events = EventLog()
    private var listening: Task<Void, Never>?
    /// The wall clock minus CLOCK_MONOTONIC, in milliseconds.
    private let clockDifference = Timestamp.now.milliseconds - MonotonicTime.now.nanoseconds / 1_000_000

    static let workers = 2

    init(_ job: Job, _ scenario: Scenario, shaper: NetworkBed.Shaper) async throws {
        self.job = job
        self.scenario = scenario
        record = RunRecord(job)
        directory = try TemporaryDirectory("evaluation")
        let configuration = NetworkBed.Configuration(
            scenario.uplink, destinations: scenario.destinations, congestion: job.congestion, shaper: shaper)
        bed = try await NetworkBed(configuration, in: directory.path)
        do {
            var destinations: [BedDestination] = []
            for number in 1...scenario.destinations.count {
                destinations.append(try await BedDestination(bed, number: number, in: directory.path))
            }
            self.destinations = destinations
            data = "\(directory.path)/data"
            client = try SluiceClient(data: data, registry: BuiltInOperations.registry(), create: true)
        } catch {
            await bed.finish()
            directory.remove()
            throw error
        }
    }

    func finish() async {
        listening?.cancel()
        await client.close()
        await bed.finish()
        directory.remove()
    }

    // MARK: Sluice

    /// Starts `sluice up` in the network of the client and waits for its workers.
    /// - Parameters:
    ///   - policy: keys of `sluice.yaml` in addition to those of the arm and the scenario.
    ///   - resolver: a file that the processes see as /etc/resolv.conf; nil for that of the system.
    func startSluice(policy: [String: String] = [:], resolver: String? = nil) async throws {
        let policy = job.arm.policy.merging(scenario.policy) { $1 }.merging(policy) { $1 }
        try Self.yaml(policy).write(toFile: "\(data)/sluice.yaml", atomically: true, encoding: .utf8)
        chmod("\(data)/sluice.yaml", 0o600)
        let concurrency = scenario.concurrency ?? job.arm.concurrency(workers: Self.workers)
        // In a mount namespace of its own, with the same process id.
        let mount =
            resolver.map { file in
                [
                    program("unshare")!, "--mount", program("sh")!, "-c",
                    #"mount --bind "$0" /etc/resolv.conf && exec "$@""#, file,
                ]
            } ?? []
        let up = try bed.start(
            in: .client,
            mount + [
                "\(NetworkBed.bin)/sluice", "up", "--data", data, "--workers", "\(Self.workers)", "--concurrency",
                "\(concurrency)", "--log-format", "text",
            ])
        self.up = up
        try await TestSupport.until("\(Self.workers) workers") {
            if let ending = up.ending { throw Missed("sluice up ended with \(ending): \(up.errors)") }
            return try await self.workers().count == Self.workers
        }
        if listening == nil {
            listening = Task { [events, stream = try client.events(prefix: "link/")] in
                for await event in stream { events.add(event) }
            }
        }
    }

    /// Kills every process of Sluice, as a power failure does.
    func killSluice() async throws {
        guard let up else { return }
        let processes = try await workers() + [coordinator()].compactMap { $0 }
        up.signal(SIGKILL)
        kill(processes)
        _ = await up.end
        self.up = nil
    }

    /// The number of deaths of a child that `sluice up` has logged.
    func deaths(of child: String) -> Int {
        (up?.errors ?? "").split(separator: "\n").count {
            $0.contains("A child died") && $0.contains("child.name=\(child)")
        }
    }

    /// Sends SIGKILL to processes of this run by their ids.
    func kill(_ processes: [Int32]) { for process in processes { Foundation.kill(process, SIGKILL) } }

    /// Writes dotted keys as nested YAML.
    static func yaml(_ keys: [String: String]) -> String {
        var lines: [String] = []
        var open: [Substring] = []
        for (key, value) in keys.sorted(by: { $0.key < $1.key }) {
            let parts = key.split(separator: ".")
            let sections = parts.dropLast()
            let common = zip(open, sections).prefix { $0 == $1 }.count
            for (depth, section) in sections.enumerated().dropFirst(common) {
                lines.append(String(repeating: "  ", count: depth) + "\(section):")
            }
            open = Array(sections)
            lines.append(String(repeating: "  ", count: sections.count) + "\(parts.last!): \(value)")
        }
        return lines.isEmpty ? "" : lines.joined(separator: "\n") + "\n"
    }

    /// Runs a command line of Sluice to its end and returns its output, also after a failure.
    func sluice(_ arguments: String...) async throws -> String {
        let child = try bed.start(in: .client, ["\(NetworkBed.bin)/sluice"] + arguments + ["--data", data])
        _ = try await child.end(within: .seconds(60))
        return child.output
    }

    private func status() async throws -> JSONValue? {
        let text = try await sluice("status", "--json")
        return try? JSONValue(parsing: Array(text.utf8))
    }

    func workers() async throws -> [Int32] {
        try await status()?["workers"]?.elements?.filter { $0["state"]?.string == "ready" }
            .compactMap { $0["pid"]?.integer.map { Int32($0) } } ?? []
    }

    func coordinator() async throws -> Int32? {
        try await status()?["coordinator"]?["pid"]?.integer.map { Int32($0) }
    }

    // MARK: Commands

    /// The protocol of an upload, which decides how it resumes.
    enum Transport: String { case put, tus, contentRange }

    /// tus if the measured Sluice has it, otherwise PUT with a note in the record.
    func resumable() -> Transport {
        let payload: JSONValue = ["file": "/dev/null", "to": "http://10.77.1.1/tus/", "protocol": "tus"]
        do {
            _ = try client.draft("upload", payload: payload)
            return .tus
        } catch {
            if error.message.contains("protocol") {
                let note = "this Sluice has no tus: low uploads were sent by PUT"
                if !record.notes.contains(note) { record.notes.append(note) }
                return .put
            }
            return .tus
        }
    }

    /// Submits uploads of files of zeros.
    /// - Parameters:
    ///   - kind: the part of their paths by which ``Traffic/of(_:)`` finds them.
    ///   - destination: the number of the destination, from 1.
    @discardableResult
    func submit(
        _ count: Int = 1, of bytes: Int, _ qos: Commands.QualityOfService, kind: String, to destination: Int = 1,
        by transport: Transport = .put
    ) async throws -> [CommandID] {
        try await submit(
            count, of: bytes, qos, kind: kind, at: destinations[destination - 1].origin, by: transport)
    }

    /// Submits uploads of files of zeros to an origin, for example `http://good.test:8080`.
    @discardableResult
    func submit(
        _ count: Int = 1, of bytes: Int, _ qos: Commands.QualityOfService, kind: String, at origin: String,
        by transport: Transport = .put
    ) async throws -> [CommandID] {
        let file = try file(bytes)
        var drafts: [CommandDraft] = []
        for _ in 0..<count {
            let number = submitted.count + drafts.count
            let to = "\(origin)/\(transport == .tus ? "tus" : "put")/\(kind)/"
            var options = SubmitOptions()
            options.qos = qos
            var payload: [JSONValue.Member] = [
                .init("file", .string(file)), .init("to", .string(transport == .tus ? to : to + "\(number)")),
            ]
            if transport != .put { payload.append(.init("protocol", .string(transport.rawValue))) }
            drafts.append(try client.draft("upload", payload: .object(payload), options: options))
        }
        let ids = try await client.submit(bulk: drafts).map { try $0.get() }
        submitted += ids
        return ids
    }

    /// Submits a copy of a file to a path.
    func submit(copyOf bytes: Int, _ qos: Commands.QualityOfService, to path: String) async throws -> CommandID {
        var options = SubmitOptions()
        options.qos = qos
        let payload: JSONValue = ["file": .string(try solidFile(bytes)), "to": .string("file://\(path)")]
        return try await client.submit("upload", payload: payload, options: options)
    }

    /// Submits enough uploads to fill the link for the rest of the run.
    func submitBacklog(
        of bytes: Int, _ qos: Commands.QualityOfService = .utility, seconds: Double? = nil, to destination: Int = 1,
        by transport: Transport = .put
    ) async throws {
        let rate = (scenario.destinations[destination - 1] ?? scenario.uplink).payloadCeiling
        let count = Int(rate * (seconds ?? self.seconds) / Double(bytes) * 1.3) + 64
        try await submit(count, of: bytes, qos, kind: "low", to: destination, by: transport)
    }

    /// Makes a file without blocks.
    private func file(_ bytes: Int) throws -> String {
        let path = "\(directory.path)/zeros-\(bytes)"
        if access(path, F_OK) == 0 { return path }
        guard FileManager.default.createFile(atPath: path, contents: nil), truncate(path, bytes) == 0 else {
            throw Missed("cannot make \(path)")
        }
        return path
    }

    /// Makes a file without holes, which a copy would skip.
    private func solidFile(_ bytes: Int) throws -> String {
        let path = "\(directory.path)/data-\(bytes)"
        if access(path, F_OK) == 0 { return path }
        guard let file = fopen(path, "w") else { throw Missed("cannot make \(path)") }
        defer { fclose(file) }
        let piece = [UInt8](repeating: 0x61, count: 1 << 20)
        var rest = bytes
        while rest > 0 {
            let count = min(rest, piece.count)
            guard fwrite(piece, 1, count, file) == count else { throw Missed("cannot write \(path)") }
            rest -= count
        }
        return path
    }

    /// The seconds from the commit of a command to that of its success.
    func time(of id: CommandID) async throws -> Double {
        let outcome = try await client.wait(for: id)
        guard outcome.status == .success else { throw Missed("\(id) ended in \(outcome.status)") }
        let timeline = try await client.timeline(id)
        guard let start = timeline.first?.at, let end = timeline.last(where: { $0.status == .success })?.at else {
            throw Missed("\(id) has no timeline")
        }
        return (end - start).seconds
    }

    /// Measures a transfer alone on the same link: the median in seconds.
    /// - Parameter period: the seconds from one transfer to the next, as in the compared series. Connections are kept, and
    ///   congestion controls have state: bbr stops for 0.2 s to measure the round trip of a kept connection after 10 s, and
    ///   slow start of a new connection takes 0.12 s (2.5 MB at 20 Mbit/s and 50 ms).
    func alone(of bytes: Int, times count: Int, every period: Double, to destination: Int = 1) async throws -> Double {
        var times: [Double] = []
        for _ in 0..<count {
            let next = MonotonicTime.now + .seconds(period)
            let id = try await submit(of: bytes, .userInteractive, kind: "alone", to: destination)[0]
            times.append(try await time(of: id))
            try await pause((next - .now).seconds)
        }
        record.samples.append(("alone (s)", times))
        return times.median!
    }

    // MARK: Time

    /// The length of the run.
    var seconds: Double { job.seconds }

    /// Starts the clock of the run and of its plots.
    func start() { begin = .now }

    /// The seconds since ``start()``.
    var elapsed: Double { (MonotonicTime.now - begin).seconds }

    /// Lets the traffic flow. The passing of time is the experiment here, and not a way to wait for an event.
    func pause(_ seconds: Double) async throws {
        if seconds > 0 { try await Task.sleep(for: .milliseconds(Int64(seconds * 1000))) }
    }

    func until(second: Double) async throws { try await pause(second - elapsed) }

    func moment(_ wall: Timestamp) -> MonotonicTime {
        MonotonicTime(nanoseconds: (wall.milliseconds - clockDifference) * 1_000_000)
    }

    /// Changes a link and marks the change.
    /// - Parameter text: the text in the plots; nil for the rate of the link.
    @discardableResult
    func change(
        _ link: EmulatedLink, destination: Int? = nil, _ text: String? = nil
    ) async throws -> MonotonicTime {
        let moment = try await bed.change(link, destination: destination)
        mark(text ?? link.rate.map { "\(($0 / 1e6).short) Mbit/s" } ?? "no limit", at: moment)
        return moment
    }

    func mark(_ text: String, at moment: MonotonicTime = .now) {
        record.marks.append(.init(at: (moment - begin).seconds, text: text))
    }

    // MARK: Observations

    func traffic(of destination: Int? = nil) async throws -> Traffic {
        var requests: [Received.Request] = []
        for (index, server) in destinations.enumerated() where destination == nil || destination == index + 1 {
            requests += try await server.statistics().requests
        }
        return Traffic(requests: requests)
    }

    /// The link events of the coordinator, in the order of time.
    func linkEvents() -> [LinkEvent] { events.all.compactMap { LinkEvent($0) { self.moment($0) } } }

    /// The first link event after a time that meets a condition.
    func link(after moment: MonotonicTime, _ condition: (LinkEvent) -> Bool) -> LinkEvent? {
        linkEvents().first { $0.at >= moment && condition($0) }
    }

    /// The commands that are being executed.
    func running(_ ids: [CommandID]) async throws -> [CommandID] {
        var running: [CommandID] = []
        for id in ids where try await client.command(id)?.status == .sent { running.append(id) }
        return running
    }

    /// The number of bytes that arrived more than once, and of those that are kept.
    func repeated() async throws -> (again: Int64, kept: Int64) {
        var sums = (received: Int64(0), kept: Int64(0))
        for destination in destinations {
            sums.received += try await destination.statistics().bytes()
            sums.kept += try await destination.files().values.reduce(0) { $0 + $1.kept }
        }
        // Bytes that arrived between the two requests are not repetitions.
        return (max(0, sums.received - sums.kept), sums.kept)
    }

    /// The number of failures that were charged to commands.
    func charged() async throws -> Int {
        var sum = 0
        for id in submitted { sum += try await client.command(id)?.retries ?? 0 }
        return sum
    }

    /// Writes the series of the plots into the record.
    func note(_ traffic: Traffic, kinds: [String]) {
        let end = MonotonicTime.now
        record.goodput = kinds.map { ($0, traffic.of($0).megabits(from: begin, to: end)) }
        record.levels = []
        for event in linkEvents() {
            let last = record.levels.last { $0.link == event.link }
            guard last.map({ $0.level != event.level || $0.limit != event.limit }) ?? true else { continue }
            record.levels.append(
                .init(at: (event.at - begin).seconds, link: event.link, level: event.level, limit: event.limit))
        }
    }
}
