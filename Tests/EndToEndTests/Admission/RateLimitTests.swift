import Commands
import Foundation
import Store
import TestSupport
import Testing

extension EndToEndTests {
    /// Rate limits, from the command line to the starts of commands in real processes.
    struct RateLimitTests {
        /// When the executions of all commands that a filter admits were claimed.
        private static func starts(
            _ store: any CommandStore, where isMeant: (Command) -> Bool = { $0.limit != nil }
        ) throws -> [Timestamp] {
            try store.list(CommandFilter(), after: nil, limit: 1000).filter(isMeant).flatMap { command in
                try store.timeline(command.id).filter { $0.status == .queued }.map(\.at)
            }.sorted()
        }

        /// The most by which the starts of a window exceed the rate; at most the burst where the limit holds.
        private static func excess(_ starts: [Timestamp], perSecond rate: Double) -> Double {
            var (smallest, greatest) = (Double.infinity, 0.0)
            for (index, time) in starts.enumerated() {
                let level = Double(index) - Double(time.milliseconds - starts[0].milliseconds) / 1000 * rate
                smallest = min(smallest, level)
                greatest = max(greatest, level - smallest + 1)
            }
            return greatest
        }

        private static func bulk(_ count: Int) -> String {
            [String](repeating: #"{"payload":{}}"#, count: count).joined(separator: "\n")
        }

        @Test func `starts of no-ops stay within rate and burst, though the coordinator is killed`() async throws {
            try await Installation.with { installation in
                let set = try await installation.sluice("limit", "set", "api", "--starts", "20/s", "--burst", "5")
                #expect(set.output == "api: starts 20/s, at most 5 in one moment\n", "\(set.errors)")
                let ids = try await installation.sluice("submit", "noop", "-", "--limit", "api", input: Self.bulk(60))
                    .ids
                #expect(ids.count == 60)
                var coordinator = try await installation.coordinator()
                for _ in 0..<2 { _ = try await installation.worker() }
                let store = try installation.store()
                for count in [10, 30] {
                    try await until("\(count) ends") { try store.counts()[.success] >= count }
                    coordinator.signal(SIGKILL)
                    _ = await coordinator.end
                    coordinator = try await installation.coordinator()
                }
                try await installation.drained(store)
                let starts = try Self.starts(store)
                #expect(starts.count == 60)
                #expect(try store.counts()[.success] == 60)
                // Times are whole milliseconds.
                #expect(Self.excess(starts, perSecond: 20) <= 5.05, "\(starts)")
            }
        }

        @Test func `a limit is shown with the commands that wait longest for it`() async throws {
            try await Installation.with { installation in
                _ = try await installation.sluice("limit", "set", "api", "--starts", "30/s", "--at-once", "2")
                let ids = try await installation.sluice("submit", "noop", "-", "--limit", "api", input: Self.bulk(12))
                    .ids
                // A bulk goes to one shard of a server, where the first of its lines wait longest.
                let longest = installation.serverStore == nil ? ids.sorted().prefix(10) : ids.prefix(10)
                let shown = try await installation.sluice("limit", "show", "api")
                #expect(shown.output.hasPrefix("api: starts 30/s, at most 3"), "\(shown.output)")
                #expect(shown.output.contains("running 0 of 2, waiting 12"), "\(shown.output)")
                let json = try JSONValue(
                    parsing: try await installation.sluice("limit", "show", "api", "--json").output.utf8)
                #expect(
                    json["next"]?.elements?.compactMap { $0["id"]?.string } == longest.sorted().map(\.description))
                let missing = try await installation.run(
                    program: "\(Installation.bin)/sluice", ["limit", "show", "apo"])
                #expect(missing.code == 66 && missing.errors.contains("api"), "\(missing.errors)")
            }
        }

        @Test func `a durable limit keeps its quota over a coordinator that is killed`() async throws {
            try await Installation.with { installation in
                _ = try await installation.sluice("limit", "set", "api", "--starts", "600/min", "--burst", "3")
                let coordinator = try await installation.coordinator()
                _ = try await installation.worker()
                _ = try await installation.sluice("submit", "noop", "-", "--limit", "api", input: Self.bulk(30))
                let store = try installation.store()
                try await until("ten ends") { try store.counts()[.success] >= 10 }
                coordinator.signal(SIGKILL)
                _ = await coordinator.end
                _ = try await installation.coordinator()
                try await installation.drained(store)
                #expect(Self.excess(try Self.starts(store), perSecond: 10) <= 3.05)
            }
        }

        @Test(.enabled(if: runsSlowTests))
        func `commands of a slow limit start though each coordinator is killed before a token comes`() async throws {
            try await Installation.with { installation in
                _ = try await installation.sluice("limit", "set", "api", "--starts", "20/min", "--burst", "1")
                _ = try await installation.worker()
                _ = try await installation.sluice("submit", "noop", "-", "--limit", "api", input: Self.bulk(30))
                let store = try installation.store()
                // A token comes each 3 s.
                for _ in 0..<20 where try store.counts()[.success] < 3 {
                    let coordinator = try await installation.coordinator()
                    try? await Task.sleep(for: .seconds(2))
                    coordinator.signal(SIGKILL)
                    _ = await coordinator.end
                }
                let starts = try Self.starts(store)
                #expect(starts.count >= 3)
                #expect(Self.excess(starts, perSecond: 1.0 / 3) <= 1.05, "\(starts)")
            }
        }

        @Test func `another rate takes effect at once, and a limit without tokens holds no other command back`()
            async throws
        {
            try await Installation.with { installation in
                _ = try await installation.sluice("limit", "set", "slow", "--starts", "1/day")
                _ = try await installation.up()
                let store = try installation.store()
                #expect(try await installation.sluice("submit", "noop", "--limit", "slow", "--wait").code == 0)
                // A single command goes by a message to the coordinator, which does not have its limit.
                let first = try #require(try await installation.sluice("submit", "noop", "--limit", "slow").ids.first)
                let parent = try #require(
                    try await installation.sluice("submit", "noop", "--payload", #"{"milliseconds":200}"#).ids.first)
                let child = try #require(
                    try await installation.sluice("submit", "noop", "--limit", "slow", "--after", "\(parent)").ids.first
                )
                try await installation.await(child, .new, in: store)
                #expect(try await installation.sluice("submit", "noop", "--wait").code == 0)
                #expect(try [first, child].map { try store.command($0)?.status } == [.new, .new])
                let explained = try await installation.sluice("explain", "\(child)").output
                #expect(
                    explained.contains("limit “slow” starts 1 in a day, and 1 other waits for it (needs: a token)"),
                    "\(explained)")
                let shown = try await installation.sluice("status", "\(child)").output
                #expect(shown.contains("limit        slow"), "\(shown)")
                let changed = ContinuousClock.now
                _ = try await installation.sluice("limit", "set", "slow", "--starts", "50/s")
                for id in [first, child] { try await installation.await(id, .success, in: store) }
                #expect(ContinuousClock.now - changed < .seconds(4))
            }
        }

        @Test func `limits are listed and removed, and an unknown one is refused by the nearest name`() async throws {
            try await Installation.with { installation in
                let sluice = installation
                #expect(try await sluice.sluice("limit", "set", "quotes-api", "--burst", "3").code == 64)
                _ = try await sluice.sluice("limit", "set", "quotes-api", "--starts", "30/s", "--at-once", "4")
                let unknown = try await sluice.sluice("submit", "noop", "--limit", "qoutes-api")
                #expect(unknown.code == 65, "\(unknown.errors)")
                #expect(unknown.errors.contains("no rate limit “qoutes-api”; is it “quotes-api”?"), "\(unknown.errors)")
                let line = #"{"payload":{},"limit":"quotes-api"}"#
                let ids = try await sluice.sluice("submit", "noop", "-", input: line).ids
                let id = try #require(ids.first)
                let listed = try await sluice.sluice("limit", "list", "--json").json()
                #expect(listed["name"]?.string == "quotes-api" && listed["starts"]?.string == "30/s", "\(listed)")
                #expect(listed["burst"]?.integer == 30 && listed["atOnce"]?.integer == 4, "\(listed)")
                #expect(listed["waiting"]?.integer == 1, "\(listed)")
                #expect(try await sluice.sluice("status", "\(id)", "--json").json()["limit"]?.string == "quotes-api")
                let removed = try await sluice.sluice("limit", "remove", "quotes-api")
                #expect(
                    removed.code == 0 && removed.errors.contains("1 ready command waits for it"), "\(removed.errors)")
                _ = try await sluice.up()
                let explained = try await sluice.sluice("explain", "\(id)").output
                #expect(explained.contains("the rate limit “quotes-api” does not exist"), "\(explained)")
                #expect(try await sluice.sluice("limit", "list").output.contains("removed"))
                _ = try await sluice.sluice("limit", "set", "quotes-api", "--starts", "30/s")
                try await sluice.await(id, .success, in: try sluice.store())
                let missing = try await sluice.sluice("limit", "remove", "quotes")
                #expect(missing.code == 66 && missing.errors.contains("there is no rate limit “quotes”"))
            }
        }

        @Test func `flows and schedules name limits, and refuse those that do not exist`() async throws {
            try await Installation.with { installation in
                let flow = "nodes: {a: {type: noop, limit: api}, b: {type: noop, after: a}}"
                let refused = try await installation.sluice("flow", "submit", "-", input: flow)
                #expect(refused.code == 65 && refused.errors.contains("no rate limit “api”"), "\(refused.errors)")
                let schedule = ["schedule", "put", "beat", "* * * * * *", "noop", "--limit", "api"]
                func put() async throws -> Installation.Finished {
                    try await installation.run(program: "\(Installation.bin)/sluice", schedule)
                }
                #expect(try await put().code == 65)
                _ = try await installation.sluice("limit", "set", "api", "--starts", "100/s")
                #expect(try await put().code == 0)
                _ = try await installation.up()
                let done = try await installation.sluice("flow", "submit", "-", "--wait", input: flow)
                #expect(done.code == 0, "\(done.errors)")
                let store = try installation.store()
                try await until("a scheduled command with its limit") {
                    try store.list(CommandFilter(status: .success), after: nil, limit: 100).contains {
                        $0.limit == "api" && $0.uniqueKey != nil
                    }
                }
                let removed = try await installation.sluice("limit", "remove", "api")
                #expect(removed.errors.contains("the schedule “beat” names it"), "\(removed.errors)")
                let doctor = try await installation.sluice("doctor")
                #expect(doctor.code == 1 && doctor.output.contains("names the rate limit “api”, which does not exist"))
            }
        }

        @Test func `starts at a destination obey its limit, retries count, and explain says so`() async throws {
            let server = try await ScriptedServer()
            try await stopping(server) {
                try server.run("* /gone : read; answer 404\n* * : read; answer 200")
                try await Installation.with { installation in
                    _ = try await installation.up()
                    let set = try await installation.sluice(
                        "network", "set", server.origin, "--starts", "5/s", "--burst", "2")
                    #expect(
                        set.code == 0 && set.output.contains("starts 5/s, at most 2 in one moment"),
                        "\(set.output)\(set.errors)")
                    let store = try installation.store()
                    let gone = try #require(
                        try await installation.sluice("request", "\(server.origin)/gone").ids.first)
                    try await installation.await(gone, .tooManyTimes, in: store)
                    let line = #"{"payload":{"url":"\#(server.origin)/a"}}"#
                    let lines = [String](repeating: line, count: 10).joined(separator: "\n")
                    #expect(try await installation.sluice("submit", "request", "-", input: lines).ids.count == 10)
                    for _ in 0..<3 {
                        #expect(try await installation.sluice("retry", "\(gone)").code == 0)
                        try await installation.await(gone, .tooManyTimes, in: store)
                    }
                    try await until("the end of all") { try store.counts()[.success] == 10 }
                    let starts = try Self.starts(store) { $0.type == "request" }
                    #expect(starts.count == 14)
                    #expect(Self.excess(starts, perSecond: 5) <= 2.05, "\(starts)")
                }
            }
        }
    }
}
