import Commands
import Glibc
import Store
import TestSupport
import Testing

extension EndToEndTests {
    /// The streams of events of a real door.
    struct EventStreamTests {
        /// Starts a program that prints a stream.
        private func stream(_ door: DoorRig, _ query: String, after id: String? = nil) throws -> ChildProcess {
            let resume = id.map { ["-H", "Last-Event-ID: \($0)"] } ?? []
            return try door.installation.start(
                program: "/usr/bin/curl",
                ["-sSN", "-H", "Authorization: Bearer \(try door.token)"] + resume
                    + ["\(door.origin)/api/v1/events\(query)"])
        }

        private func newest(_ store: any CommandStore) throws -> String {
            try (0..<store.shardCount).map { shard in
                "\(try store.lastTransition(shard: shard))"
            }.joined(separator: ".")
        }

        private func numbers(_ events: [ServerSentEvent]) throws -> [String] {
            try events.filter { $0.name == "log" }.flatMap { event in
                let elements = try JSONValue(parsing: Array(event.data.utf8)).elements ?? []
                return elements.map { "\($0["shard"]?.integer ?? -1)/\($0["seq"]?.integer ?? -1)" }
            }
        }

        private func submit(_ count: Int, _ installation: Installation) async throws {
            let lines = String(repeating: #"{"payload":{}}"# + "\n", count: count)
            let finished = try await installation.sluice("submit", "noop", "--payload", "-", input: lines)
            #expect(finished.code == 0, "\(finished.errors)")
        }

        @Test func `a log has each transition once while the door is killed again and again`() async throws {
            try await Installation.with { installation in
                _ = try await installation.up()
                let door = try await DoorRig(installation)
                let store = try installation.store()
                var events: [ServerSentEvent] = []
                var last: String? = "0"
                for round in 0..<4 {
                    let reader = try stream(door, "?stream=log", after: last)
                    async let submitted: Void = submit(500, installation)
                    try await until("some transitions") { ServerSentEvent.lastID(reader.output) != nil }
                    if round < 3 { try await door.kill() }
                    try await submitted
                    if round < 3 {
                        _ = try await reader.end(within: .seconds(20))
                        try await door.start()
                    } else {
                        try await installation.drained(store)
                        let newest = try newest(store)
                        try await until("the last transition") { ServerSentEvent.lastID(reader.output) == newest }
                    }
                    events += ServerSentEvent.parse(reader.output)
                    last = ServerSentEvent.lastID(reader.output) ?? last
                }
                var expected: Set<String> = []
                for shard in 0..<store.shardCount {
                    for event in try store.events(shard: shard, after: 0, limit: 1_000_000).events {
                        expected.insert("\(shard)/\(event.transition.seq)")
                    }
                }
                let numbers = try numbers(events)
                #expect(numbers.count == expected.count && Set(numbers) == expected)
                #expect(expected.count >= 6000 && events.allSatisfy { $0.name == "log" })
            }
        }

        @Test func `a log that takes nothing is dropped within seconds, and goes on behind its last frame`()
            async throws
        {
            try await Installation.with { installation in
                _ = try await installation.up()
                let door = try await DoorRig(installation)
                let store = try installation.store()
                func dropped(_ stream: String) async throws -> Double {
                    let labels = [#"stream="\#(stream)""#, #"reason="slow""#]
                    return try await door.scrape().sum("sluice_sse_dropped_total", labels)
                }
                let reader = try StalledReader(door, "?stream=log&after=0")
                let page = try StalledReader(door, "?stream=view")
                // 2,000 transitions of about 250 bytes, for buffers of 256 KiB.
                try await submit(700, installation)
                try await until("a full buffer") { (reader.queuedBytes ?? 0) > 100_000 }
                let stalled = ContinuousClock.now
                var most = 0
                try await until("the drop of the log") {
                    most = max(most, reader.queuedBytes ?? 0)
                    return try await dropped("log") == 1
                }
                // 5 s, and the time until the buffer was full.
                #expect(.now - stalled < .seconds(10))
                // The kernel doubles SO_SNDBUF.
                #expect(most <= 2 * (128 << 10) + (64 << 10), "\(most)")
                #expect(try await dropped("view") == 0 && page.queuedBytes != nil)
                try await installation.drained(store)
                let before = reader.readAll()
                let last = try #require(ServerSentEvent.lastID(before))
                let again = try stream(door, "?stream=log", after: last)
                let newest = try newest(store)
                try await until("the newest transition") { ServerSentEvent.lastID(again.output) == newest }
                let found = try numbers(ServerSentEvent.parse(before) + ServerSentEvent.parse(again.output))
                var expected = 0
                for shard in 0..<store.shardCount {
                    expected += try store.events(shard: shard, after: 0, limit: 1_000_000).events.count
                }
                #expect(found.count == expected && Set(found).count == expected)
                #expect(expected == 2800)
            }
        }

        @Test func `a view has the counts, at most four frames a second, and survives the coordinator`() async throws {
            try await Installation.with { installation in
                let door = try await DoorRig(installation)
                let first = try await installation.coordinator()
                _ = try await installation.worker()
                let view = try stream(door, "?parts=counts,coordinator,rates,workers")
                func last(_ part: String) -> JSONValue? {
                    ServerSentEvent.parse(view.output).reversed().lazy.compactMap { event in
                        (try? JSONValue(parsing: Array(event.data.utf8)))?[part]
                    }.first
                }
                try await until("the coordinator") { last("coordinator")?["hears"]?.bool == true }
                #expect(last("coordinator")?["pid"]?.integer == Int64(first.pid))
                let began = ContinuousClock.now
                let before = ServerSentEvent.parse(view.output).count
                try await submit(300, installation)
                try await until("the counts") { last("counts")?["success"]?.integer == 300 }
                let frames = ServerSentEvent.parse(view.output).count - before
                #expect(Double(frames) <= ((.now - began) / .seconds(1)) * 4 + 1)
                #expect(last("workers")?["count"]?.integer == 1)

                first.signal(SIGKILL)
                try await until("the silence") { last("coordinator")?["hears"]?.bool == false }
                let second = try await installation.coordinator()
                try await until("the next coordinator") {
                    last("coordinator")?["hears"]?.bool == true
                        && last("coordinator")?["pid"]?.integer == Int64(second.pid)
                }
                try await submit(10, installation)
                try await until("the counts") { last("counts")?["success"]?.integer == 310 }
                for event in ServerSentEvent.parse(view.output) { #expect(event.data.utf8.count <= 8192) }
                #expect(try await door.stop() == .exited(0))
                #expect(try await view.end(within: .seconds(5)) == .exited(0))
                #expect(view.output.hasSuffix("\n\n") && view.output.split(separator: "retry: ").count == 2)
            }
        }

        @Test func `the stream of a token that is revoked ends within two seconds`() async throws {
            try await Installation.with { installation in
                let door = try await DoorRig(installation)
                let made = try await installation.sluice("token", "create", "page", "--scope", "read")
                let token = try #require(made.lines.first)
                let mine = try installation.start(
                    program: "/usr/bin/curl",
                    ["-sSN", "-H", "Authorization: Bearer \(token)", "\(door.origin)/api/v1/events"])
                let other = try stream(door, "")
                try await until("the streams") {
                    [mine, other].allSatisfy { !ServerSentEvent.parse($0.output).isEmpty }
                }
                #expect(try await installation.sluice("token", "revoke", "page").code == 0)
                let began = ContinuousClock.now
                _ = try await mine.end(within: .seconds(10))
                #expect(.now - began < .seconds(2))
                #expect(other.ending == nil)
            }
        }

        @Test func `transitions that were pruned while a program was away are a gap`() async throws {
            try await Installation.with { installation in
                _ = try await installation.up()
                let door = try await DoorRig(installation)
                let store = try installation.store()
                try await submit(100, installation)
                try await installation.drained(store)
                let reader = try stream(door, "?stream=log&after=0")
                let position = try newest(store)
                try await until("the transitions") { ServerSentEvent.lastID(reader.output) == position }
                await reader.finish()
                try await submit(100, installation)
                try await installation.drained(store)
                #expect(try await installation.sluice("prune", "--older-than", "0s").code == 0)
                try await submit(100, installation)
                try await installation.drained(store)
                let again = try stream(door, "?stream=log", after: position)
                let last = try newest(store)
                try await until("the newest transition") { ServerSentEvent.lastID(again.output) == last }
                let names = ServerSentEvent.parse(again.output).map(\.name)
                #expect(names.contains("gap") && names.contains("log"))
            }
        }
    }
}
