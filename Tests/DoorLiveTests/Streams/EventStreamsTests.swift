import Commands
import Door
import Glibc
import Queue
import Store
import TestSupport
import Testing

@testable import DoorLive

struct EventStreamsTests {
    @Test func `the head of a stream forbids caches and the buffers of proxies`() async throws {
        try await StreamsRig.with { rig in
            let client = try rig.client("")
            try await until("the head") { client.output.contains("retry: ") }
            for field in [
                "HTTP/1.1 200 OK", "content-type: text/event-stream", "cache-control: no-store",
                "x-accel-buffering: no", "transfer-encoding: chunked",
            ] {
                #expect(client.output.lowercased().contains(field.lowercased() + "\r\n"), "\(client.output)")
            }
            let retry = client.output.split(separator: "retry: ").last?.prefix { $0.isNumber }
            #expect((2000..<3000).contains(retry.flatMap { Int($0) } ?? 0))
            await client.finish()
        }
    }

    @Test func `a view gets the state, and then its changes`() async throws {
        try await StreamsRig.with { rig in
            let client = try rig.client("?stream=view&parts=counts,links")
            try await rig.opened(1)
            rig.publish([.counts: "1", .links: "2", .running: "3"])
            try await until("the state") { client.events.count == 1 }
            rig.publish([.running: "4", .counts: "5"])
            try await until("the change") { client.events.count == 2 }
            #expect(client.events.map(\.data) == [#"{"counts":1,"links":2}"#, #"{"counts":5}"#])
            #expect(client.events.allSatisfy { $0.name == "view" && $0.id == nil })
            await client.finish()
        }
    }

    @Test func `a log begins with the next transition, and without a filter has each one once`() async throws {
        try await StreamsRig.with { rig in
            try rig.live.submit(50)
            let old = try rig.live.transitions
            let client = try rig.client("?stream=log")
            let position = try rig.live.newest.text
            try await until("its position") { ServerSentEvent.lastID(client.plainOutput) == position }
            try rig.live.execute(try rig.live.submit(300), .success(result: nil))
            let newest = try rig.live.newest.text
            try await until("the last transition") { ServerSentEvent.lastID(client.plainOutput) == newest }
            let numbers = try Self.numbers(client.events)
            #expect(Set(numbers).count == numbers.count && Set(numbers).isDisjoint(with: old))
            #expect(numbers.count >= 900 && client.events.allSatisfy { $0.name == "log" })
            await client.finish()
        }
    }

    @Test func `a log goes on behind Last-Event-ID, and behind after where there is none`() async throws {
        try await StreamsRig.with { rig in
            try rig.live.submit(1500)
            let position = try rig.live.newest.text
            let old = try rig.live.transitions
            try rig.live.execute(try rig.live.submit(200), .success(result: nil))
            let newest = try rig.live.newest.text
            let missed = try rig.live.transitions.subtracting(old)
            // An empty field, as an event source sends it before its first event, is as none.
            let all = try rig.client("?stream=log&after=0", "-H", "Last-Event-ID;")
            let rest = try rig.client("?stream=log&after=0", "-H", "Last-Event-ID: \(position)")
            for (client, expected) in [(all, old.union(missed)), (rest, missed)] {
                try await until("the newest transition") { ServerSentEvent.lastID(client.plainOutput) == newest }
                let numbers = try Self.numbers(client.events)
                #expect(numbers.count == expected.count && Set(numbers) == expected)
            }
            // Both are live now.
            try rig.live.submit(20)
            let last = try rig.live.newest.text
            for client in [all, rest] {
                try await until("live transitions") { ServerSentEvent.lastID(client.plainOutput) == last }
                #expect(client.events.allSatisfy { $0.name == "log" })
                await client.finish()
            }
        }
    }

    @Test func `a reader joins a store that is written all the time, and misses and repeats nothing`() async throws {
        try await StreamsRig.with { rig in
            let isOver = Shared(false)
            let writer = Task.detached {
                while !isOver.value { try rig.live.execute(try rig.live.submit(20), .success(result: nil)) }
            }
            let clients = try (0..<4).map { _ in try rig.client("?stream=log&after=0") }
            for client in clients { try await until("some transitions") { client.output.utf8.count > 200_000 } }
            isOver.change { $0 = true }
            try await writer.value
            let newest = try rig.live.newest.text
            let all = try rig.live.transitions
            for client in clients {
                try await until("the newest transition") { ServerSentEvent.lastID(client.plainOutput) == newest }
                let numbers = try Self.numbers(client.events)
                #expect(numbers.count == all.count && Set(numbers) == all)
                await client.finish()
            }
        }
    }

    @Test func `transitions that were pruned are a gap`() async throws {
        try await StreamsRig.with { rig in
            let ids = try rig.live.submit(40)
            let position = try rig.live.newest.text
            try rig.live.execute(ids, .success(result: nil))
            for shard in 0..<rig.live.store.shardCount {
                _ = try rig.live.store.prune(
                    shard: shard, before: .now + .seconds(60), statuses: [.success], limit: 1000)
            }
            try rig.live.submit(40)
            let newest = try rig.live.newest
            let client = try rig.client("?stream=log", "-H", "Last-Event-ID: \(position)")
            try await until("the newest transition") { ServerSentEvent.lastID(client.plainOutput) == newest.text }
            let gaps = client.events.filter { $0.name == "gap" }
            #expect(!gaps.isEmpty)
            // Gaps and transitions together are all numbers.
            let missing = try gaps.reduce(Int64(0)) { sum, gap in
                let json = try JSONValue(parsing: Array(gap.data.utf8))
                return sum + (json["to"]?.integer ?? 0) - (json["from"]?.integer ?? 0) + 1
            }
            let start = try #require(TransitionPosition(position, shardCount: newest.numbers.count))
            let expected = zip(newest.numbers, start.numbers).reduce(Int64(0)) { $0 + $1.0 - $1.1 }
            #expect(missing + Int64(try Self.numbers(client.events).count) == expected)
            await client.finish()
        }
    }

    @Test(arguments: [
        ("?stream=all", "view or log"), ("?stream=view&status=error", "does not take “status”"),
        ("?parts=x", "one of asOf, coordinator"), ("?stream=log&status=bad", "one of new, queued"),
        ("?stream=log&id=1", "the UUID of a command"), ("?stream=log&after=1.2", "not the id of an event"),
        ("?stream=log&qos=x", "one of userInteractive"), ("?stream=log&destination=x", "an origin"),
        ("?stream=log&type=NOOP", "a type"), ("?stream=view&stream=log", "“stream” occurs twice"),
        ("?stream=log&after=0&after=0", "“after” occurs twice"), ("?stream=log&type=", "/problems/invalid-query"),
    ])
    func `a query that cannot be used is an error that says so`(query: String, words: String) async throws {
        try await StreamsRig.with { rig in
            let client = try rig.client(query)
            _ = try await client.end(within: .seconds(20))
            #expect(client.output.contains("400 Bad Request") && client.output.contains(words), "\(client.output)")
        }
    }

    @Test func `more streams than permitted are refused, of one token and of all`() async throws {
        var limits = StreamLimits()
        (limits.maxStreams, limits.maxStreamsOfToken, limits.maxLogs, limits.maxLogsOfToken) = (4, 2, 1, 1)
        try await StreamsRig.with(limits) { rig in
            let first = try rig.client("")
            try await rig.opened(1)
            let log = try rig.client("?stream=log")
            try await rig.opened(1, .log)
            for (query, token) in [("", "studio"), ("?stream=log", "archive")] {
                let refused = try rig.client(query, token: token)
                _ = try await refused.end(within: .seconds(20))
                #expect(refused.output.contains("429 Too Many Requests"), "\(refused.output)")
                #expect(refused.output.contains("too-many-streams"))
            }
            #expect(rig.part.statistics[.view].refused == 1 && rig.part.statistics[.log].refused == 1)
            // A client that leaves makes room at once.
            await first.finish()
            try await rig.opened(0)
            let next = try rig.client("")
            try await rig.opened(1)
            for client in [log, next] { await client.finish() }
        }
    }

    @Test func `a token with logs of its own share keeps no other token out`() async throws {
        var limits = StreamLimits()
        (limits.maxLogs, limits.maxLogsOfToken) = (4, 3)
        try await StreamsRig.with(limits) { rig in
            var clients: [ChildProcess] = []
            for (index, token) in ["studio", "studio", "studio", "archive"].enumerated() {
                clients.append(try rig.client("?stream=log", token: token))
                try await rig.opened(index + 1, .log)
            }
            let refused = try rig.client("?stream=log")
            _ = try await refused.end(within: .seconds(20))
            #expect(refused.output.contains("429 Too Many Requests"), "\(refused.output)")
            // The newest of the token that has most makes room, not that of a token with one.
            let other = try rig.client("?stream=log", token: "press")
            _ = try await clients[2].end(within: .seconds(20))
            #expect(rig.part.statistics[.log].dropped == [.displaced: 1])
            try await rig.opened(4, .log)
            #expect([0, 1, 3].allSatisfy { clients[$0].ending == nil } && other.ending == nil)
            for client in clients + [other] { await client.finish() }
            try await rig.opened(0, .log)
        }
    }

    @Test func `a stream is displaced only by a token that then has no more of them`() {
        let shares = StreamShares([1: "a", 2: "a", 3: "b", 4: "b", 5: "b"], max: 5, maxOfToken: 3)
        #expect(shares.verdict(for: "b") == .refuse)
        #expect(shares.verdict(for: "a") == .refuse)
        #expect(shares.verdict(for: "c") == .displace(5))
        #expect(StreamShares([1: "a", 2: "b"], max: 2, maxOfToken: 2).verdict(for: "c") == .refuse)
        #expect(StreamShares([1: "a", 2: "b"], max: 3, maxOfToken: 2).verdict(for: "a") == .admit)
    }

    @Test func `a client that takes nothing is dropped, and the others are served`() async throws {
        var limits = StreamLimits()
        limits.maxWrite = .milliseconds(500)
        try await StreamsRig.with(limits) { rig in
            let good = try rig.client("?stream=log&type=other")
            let slow = try rig.client("?stream=log")
            let asleep = try rig.client("")
            try await rig.opened(2, .log)
            try await rig.opened(1)
            for client in [slow, asleep] { client.signal(SIGSTOP) }
            let large = "\"" + String(repeating: "x", count: 7000) + "\""
            var number = 0
            try await until("the drop of the slow clients", within: .seconds(60)) {
                try rig.live.submit(500)
                number += 1
                rig.publish([.counts: "\(number)", .links: large])
                rig.publish([.links: "\(number)"])
                return rig.part.statistics[.log].dropped[.slow] == 1 && rig.part.statistics[.view].dropped[.slow] == 1
            }
            try await rig.opened(1, .log)
            try rig.live.submit(5, type: "other")
            try await until("the transitions of the other client") {
                try Self.numbers(good.events).count == 5
            }
            for client in [slow, asleep] { client.signal(SIGCONT) }
            for client in [good, slow, asleep] { await client.finish() }
        }
    }

    @Test func `the streams of a token that was revoked end, and the others do not`() async throws {
        try await StreamsRig.with { rig in
            let (mine, other) = (try rig.client(""), try rig.client("", token: "archive"))
            try await rig.opened(2)
            let asked = Shared(0)
            await rig.part.registry.checkPermissions { principal, _ in
                asked.change { $0 += 1 }
                return principal.name != "studio"
            }
            #expect(try await mine.end(within: .seconds(10)) == .exited(0))
            #expect(rig.part.statistics[.view].dropped == [.revoked: 1] && asked.value == 2)
            #expect(rig.part.statistics[.view].subscribers == 1 && other.ending == nil)
            await other.finish()
        }
    }

    @Test func `a shutdown ends streams with a last retry, and admits no more`() async throws {
        try await StreamsRig.with { rig in
            let clients = [try rig.client(""), try rig.client("?stream=log")]
            try await rig.opened(1)
            try await rig.opened(1, .log)
            rig.part.registry.shutDown()
            for client in clients {
                #expect(try await client.end(within: .seconds(10)) == .exited(0))
                #expect(client.output.split(separator: "retry: ").count == 3, "\(client.output)")
            }
            let late = try rig.client("")
            _ = try await late.end(within: .seconds(10))
            #expect(late.output.contains("503 Service Unavailable"))
        }
    }

    @Test func `HEAD has the fields of a stream, and opens none`() async throws {
        try await StreamsRig.with { rig in
            let client = try rig.client("?stream=log", "-I")
            #expect(try await client.end(within: .seconds(10)) == .exited(0))
            #expect(client.output.lowercased().contains("content-type: text/event-stream"))
            try await rig.opened(0, .log)
        }
    }

    /// The transitions of the frames, as `shard/number`.
    private static func numbers(_ events: [ServerSentEvent]) throws -> [String] {
        try events.filter { $0.name == "log" }.flatMap { event in
            let elements = try JSONValue(parsing: Array(event.data.utf8)).elements ?? []
            return elements.map { "\($0["shard"]?.integer ?? -1)/\($0["seq"]?.integer ?? -1)" }
        }
    }
}
