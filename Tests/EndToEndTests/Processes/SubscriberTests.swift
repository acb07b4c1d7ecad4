import Commands
import Foundation
import Sluice
import Store
import Synchronization
import TestSupport
import Testing

extension EndToEndTests {
    /// The events that subscribers receive on `events.sock`.
    struct SubscriberTests {
        /// The first block of that language in the README.
        static func readme(_ language: String) throws -> String {
            let text = String(decoding: contents(of: "\(Installation.repository)/README.md") ?? [], as: UTF8.self)
            let start = try #require(text.range(of: "```\(language)\n"))
            let end = try #require(text.range(of: "\n```", range: start.upperBound..<text.endIndex))
            return String(text[start.upperBound..<end.lowerBound])
        }

        static let hasPython: Bool = {
            guard let python = program("python3") else { return false }
            let process = Process()
            process.executableURL = URL(fileURLWithPath: python)
            process.arguments = ["-c", "import zmq"]
            process.standardError = FileHandle.nullDevice
            return (try? process.run()).map { process.waitUntilExit() } != nil && process.terminationStatus == 0
        }()

        @Test(.enabled(if: isAvailable(hasPython), "python3-zmq is not installed"))
        func `the README's Python subscriber receives every transition`() async throws {
            let script = try Self.readme("python")
            #expect(script.split(separator: "\n").count <= 10)
            try await Installation.with { installation in
                _ = try await installation.up()
                let path = try installation.directory.file("subscriber.py", Array(script.utf8))
                let subscriber = try installation.start(program: #require(program("python3")), [path])
                func heard(_ id: CommandID) -> [String] {
                    subscriber.output.split(separator: "\n").compactMap { line in
                        let words = line.split(separator: " ")
                        return words.first == Substring(id.description) ? String(words[1]) : nil
                    }
                }
                // A subscriber receives the events after it has joined; the first command that it receives
                // proves that.
                try await until("the subscriber") {
                    if let ending = subscriber.ending { throw Missed("it ended: \(ending)\n\(subscriber.errors)") }
                    let id = try await installation.sluice("submit", "noop", "--wait").ids[0]
                    return !heard(id).isEmpty
                }
                let id = try await installation.sluice("submit", "noop").ids[0]
                try await until("all of its transitions") { heard(id).last == "success" }
                #expect(heard(id) == ["new", "queued", "sent", "success"])
            }
        }

        @Test func `watch prints metrics only for their topic`() async throws {
            try await Installation.with { installation in
                _ = try await installation.up()
                let all = try installation.start("watch", "--json")
                let metrics = try installation.start("watch", "--topic", "metrics/")
                func submit() async throws -> String {
                    try await installation.sluice("submit", "noop", "--wait").ids[0].description
                }
                func reports() -> Int { metrics.output.ranges(of: "\"topic\":\"metrics/coordinator\"").count }
                try await until("both subscribers") {
                    let id = try await submit()
                    return all.output.contains(id) && reports() > 0
                }
                let before = reports()
                try await until("a report that both receive") { reports() > before }
                // The socket had the report before the events of this command.
                let id = try await submit()
                try await until("the command") { all.output.contains(id) }
                #expect(!all.output.contains("\"topic\":\"metrics/"))
                #expect(!metrics.output.contains(id))
            }
        }

        @Test func `a subscriber gets a snapshot first, then each shard's transitions in the order of seq`()
            async throws
        {
            try await Installation.with { installation in
                let up = try await installation.up(workers: 2)
                // A worker takes its seat before the coordinator knows it.
                try await until("the greetings") {
                    up.errors.split(separator: "\n").count { $0.contains("Worker registered") } == 2
                }
                let running = try await installation.sluice("submit", "noop", "--payload", #"{"milliseconds":30000}"#)
                    .ids[0]
                let store = try installation.store()
                try await installation.await(running, .sent, in: store)

                let client = try SluiceClient(
                    data: installation.data, store: installation.serverStore?.url, create: false)
                let events = LockedEvents()
                let stream = try client.events()
                let listener = Task { for await event in stream { events.append(event) } }
                defer { listener.cancel() }
                try await until("the snapshot") {
                    let all = events.all
                    return all.contains { $0.isSnapshot && $0.id == running && $0.status == .sent }
                        && all.contains { $0.isSnapshot && $0.kind == "counts" }
                        && all.filter { $0.isSnapshot && $0.kind == "worker" }.count == 2
                }

                let bulk = [String](repeating: #"{"payload":{}}"#, count: 500).joined(separator: "\n")
                let ids = try await installation.sluice("submit", "noop", "--payload", "-", input: bulk).ids
                try await until("500 successes") {
                    let done = Set(events.all.filter { $0.status == .success }.compactMap(\.id))
                    return ids.allSatisfy(done.contains)
                }
                var last: [Int64: Int64] = [:]
                for event in events.all where event.kind == "status" && !event.isSnapshot {
                    let shard = try #require(event.body["shard"]?.integer)
                    let seq = try #require(event.body["seq"]?.integer)
                    if let before = last[shard] { #expect(seq == before + 1, "shard \(shard)") }
                    last[shard] = seq
                }
                // A transition made by a command line is an event too, though no worker reports it.
                #expect(try await installation.sluice("cancel", "\(running)").code == 0)
                try await until("the cancellation") {
                    events.all.contains { $0.id == running && $0.status == .cancelled }
                }
                await client.close()
            }
        }

        @Test func `for explain the coordinator publishes the link of the command, and none of a thousand others`()
            async throws
        {
            try await Installation.with { installation in
                let file = try installation.directory.file("a.bin", [1])
                let put = try await installation.sluice("put", file, "--to", "http://h7.example:80/x")
                let id = try #require(put.ids.first, "\(put.errors)")
                let links = (0..<1000).map { (SettingKey.link(.up, "http://h\($0).example:80"), #"{"level":"good"}"#) }
                try installation.store().set(links, timeout: .seconds(10))
                _ = try await installation.coordinator()
                try await until("every link") {
                    try await installation.sluice("network", "--json").lines.count { $0.contains(".example:80") }
                        == 1000
                }
                let client = try SluiceClient(
                    data: installation.data, store: installation.serverStore?.url, create: false)
                let events = LockedEvents()
                let stream = try client.events()
                let listener = Task { for await event in stream { events.append(event) } }
                defer { listener.cancel() }
                /// The topics of the links of each snapshot, whose end its counts are.
                func snapshots() -> [[String]] {
                    let all = events.all.filter(\.isSnapshot)
                    let ended = all.split(omittingEmptySubsequences: false) { $0.kind == "counts" }.dropLast()
                    return ended.map { $0.map(\.topic).filter { $0.hasPrefix("link/http") } }
                }
                try await until("the snapshot of a monitor of every topic") { !snapshots().isEmpty }
                #expect(snapshots()[0].count == 1000)
                let explained = try await installation.sluice("explain", "\(id)")
                #expect(explained.code == 0 && explained.output.contains("no worker is running"), "\(explained.output)")
                try await until("the snapshot for explain") { snapshots().count > 1 }
                #expect(snapshots()[1] == ["link/http://h7.example:80"])
                await client.close()
            }
        }

        @Test func `watch continues over a restart of the coordinator`() async throws {
            try await Installation.with { installation in
                let first = try await installation.coordinator()
                _ = try await installation.worker()
                let watch = try installation.start("watch", "--json")
                try await until("the first event") { !watch.output.isEmpty }
                first.signal(SIGKILL)
                _ = await first.end
                _ = try await installation.coordinator()
                let id = try await installation.sluice("submit", "noop", "--wait").ids[0]
                try await until("an event of the new coordinator") { watch.output.contains("\(id)") }
                #expect(watch.ending == nil)
                watch.signal(SIGINT)
                #expect(try await watch.end(within: .seconds(10)) == .exited(130))
            }
        }
    }
}

/// The events that a listener has received.
private final class LockedEvents: Sendable {
    private let events = Mutex<[SluiceEvent]>([])

    var all: [SluiceEvent] { events.withLock { $0 } }
    func append(_ event: SluiceEvent) { events.withLock { $0.append(event) } }
}
