import Commands
import Foundation
import Store
import TestSupport
import Testing

extension EndToEndTests {
    /// Schedules, from the command line to the commands that a coordinator submits.
    struct ScheduleTests {
        /// A data base of zones that has lost one, and policies that drop missed times.
        @Test func `a schedule that is held, and one that drops missed times, are told`() async throws {
            try await Installation.with { installation in
                let put = try await installation.sluice(
                    "schedule", "put", "beat", "* * * * *", "noop", "--missed", "all:5", "--overlap", "skip")
                #expect(put.code == 0 && put.errors.contains("only the oldest"), "\(put.errors)")
                let store = try installation.store()
                let beat = try #require(try store.schedule("beat"))
                let lost = try SchedulePut(
                    .object([
                        .init("cron", "* * * * * *"), .init("zone", "Mars/Base"),
                        .init("command", .object([.init("type", "noop")])),
                    ]), name: "lost"
                ).definition
                try store.changeSchedule("lost") { _ throws(StoreError) in
                    StoredSchedule(definition: lost, action: beat.action, state: beat.state)
                }
                let coordinator = try await installation.coordinator()
                try await until("the log") {
                    coordinator.errors.contains("The schedule “lost” is held: ")
                }
                let doctor = try await installation.sluice("doctor")
                #expect(doctor.code == 1 && doctor.output.contains("“lost” is held: "), "\(doctor.output)")
            }
        }

        @Test func `a schedule fires each second once, though its coordinator is killed`() async throws {
            try await Installation.with { installation in
                let put = try await installation.sluice(
                    "schedule", "put", "beat", "* * * * * *", "noop", "--overlap", "allow", "--missed", "all:100",
                    "--json")
                #expect(put.code == 0, "\(put.errors)")
                #expect(try put.json()["change"]?.string == "created")
                let store = try installation.store()
                func fired() throws -> Int64 { try store.schedule("beat")?.state.fired ?? 0 }
                for round in 0..<2 {
                    let up = try await installation.up()
                    let before = try fired()
                    try await until("a schedule that fires") { try fired() >= before + 2 }
                    up.signal(round == 0 ? SIGKILL : SIGTERM)
                    _ = try await up.end(within: .seconds(30))
                }
                let keys = try await installation.sluice("list", "--limit", "0", "--json").lines.map {
                    try JSONValue(parsing: Array($0.utf8))["uniqueKey"]?.string
                }
                let count = try fired()
                #expect(Set(keys).count == keys.count && Int64(keys.count) == count)
                let state = try #require(try store.schedule("beat")).state
                // Every second since the put has fired, also those at which no coordinator ran.
                let first = try #require(keys.compactMap(\.self).min())
                let last = try #require(keys.compactMap(\.self).max())
                let seconds = try [first, last].map { key in
                    try #require(Timestamp(rfc3339: String(key.drop { $0 != "@" }.dropFirst()))).milliseconds / 1000
                }
                #expect(seconds[1] - seconds[0] + 1 == state.fired && state.skipped == 0)
            }
        }

        /// Also a zone that vanishes while no coordinator runs. Other readers of a zone: `schedule put` and `apply` refuse it, and
        /// the pages and `show` print UTC without it.
        @Test func `a schedule whose zone vanishes is held and named, and goes on when the zone is back`() async throws
        {
            try await Installation.with { installation in
                let zones = "\(installation.directory.path)/zones"
                let (zone, away) = ("\(zones)/Etc/Here", "\(installation.directory.path)/away")
                let files = FileManager.default
                try files.createDirectory(atPath: "\(zones)/Etc", withIntermediateDirectories: true)
                try files.copyItem(atPath: "\(TimeZoneDatabase.defaultDirectory)/Europe/Berlin", toPath: zone)
                let environment = ["TZDIR": zones]
                func put(_ name: String) async throws -> Installation.Finished {
                    try await installation.sluice(
                        "schedule", "put", name, "* * * * * *", "noop", "--overlap", "allow", "--zone", "Etc/Here",
                        environment: environment)
                }
                #expect(try await put("beat").code == 0)
                let store = try installation.store()
                func state() throws -> ScheduleState { try #require(try store.schedule("beat")).state }
                let sentence = "cannot find the time zone “Etc/Here”"
                var coordinator = try await installation.coordinator(environment: environment)
                for isRunning in [true, false] {
                    let before = try state().fired
                    try await until("a schedule that fires") { try state().fired > before }
                    if !isRunning {
                        coordinator.signal(SIGTERM)
                        #expect(try await coordinator.end(within: .seconds(30)) == .exited(0))
                    }
                    try files.moveItem(atPath: zone, toPath: away)
                    if !isRunning { coordinator = try await installation.coordinator(environment: environment) }
                    try await until("the report of the zone") {
                        coordinator.errors.contains("The schedule “beat” is held: \(sentence)")
                    }
                    let held = try state()
                    #expect(held.next == nil && held.reason?.hasPrefix(sentence) == true, "\(held)")
                    for arguments in [["schedule", "show", "beat"], ["doctor"]] {
                        let said = try await installation.run(
                            program: "\(Installation.bin)/sluice", arguments, environment: environment)
                        #expect(said.output.contains(sentence), "\(said.output)")
                    }
                    let refused = try await put("other")
                    #expect(refused.code == 65 && refused.errors.contains(sentence), "\(refused.errors)")
                    #expect(try state().fired == held.fired, "it fires by no other zone")
                    try files.moveItem(atPath: away, toPath: zone)
                    try await until("the schedule goes on") { try state().fired > held.fired && state().reason == nil }
                }
            }
        }

        @Test func `schedules are put, shown, paused, resumed, triggered and removed`() async throws {
            try await Installation.with { installation in
                let sluice = installation
                let first = try await sluice.sluice(
                    "schedule", "put", "nightly", "30 2 * * *", "noop", "--zone", "Europe/Berlin", "--deadline", "2h")
                #expect(first.output.hasPrefix("nightly created; next at "), "\(first.errors)")
                let again = try await sluice.sluice(
                    "schedule", "put", "nightly", "30 2 * * *", "noop", "--zone", "Europe/Berlin", "--deadline", "2h")
                #expect(again.output.hasPrefix("nightly unchanged; "))
                let listed = try await sluice.sluice("schedule", "list")
                #expect(listed.lines.count == 2 && listed.lines[1].contains("Europe/Berlin"), "\(listed.output)")
                let shown = try await sluice.sluice("schedule", "show", "nightly", "--next", "2", "--json")
                #expect(try shown.json()["times"]?.elements?.count == 2)
                #expect(try await sluice.sluice("schedule", "pause", "nightly").output == "nightly paused; paused\n")
                let triggered = try await sluice.sluice("schedule", "trigger", "nightly")
                #expect(triggered.ids.count == 1, "\(triggered.errors)")
                #expect(try await sluice.sluice("schedule", "resume", "nightly").output.contains("next at "))
                #expect(try await sluice.sluice("schedule", "remove", "nightly").output == "nightly removed\n")
                let missing = try await sluice.sluice("schedule", "show", "nightly")
                #expect(missing.code == 66 && missing.errors.contains("no schedule “nightly”"))
            }
        }

        @Test func `a file of schedules is applied as a whole, and one with a mistake changes nothing`() async throws {
            try await Installation.with { installation in
                let path = "\(installation.directory.path)/schedules.yaml"
                func apply(_ text: String, prunes: Bool = false) async throws -> Installation.Finished {
                    try text.write(toFile: path, atomically: true, encoding: .utf8)
                    return prunes
                        ? try await installation.sluice("schedule", "apply", path, "--prune")
                        : try await installation.sluice("schedule", "apply", path)
                }
                let good = """
                    zone: Europe/Berlin
                    schedules:
                      a: {cron: "@every 10m", command: {type: noop}}
                      b: {cron: "0 0 * * 1", overlap: queue, flow: {nodes: {x: {type: noop}, y: {type: noop, after: x}}}}
                    """
                #expect(try await apply(good).output == "a created\nb created\n")
                #expect(try await apply(good).output == "a unchanged\nb unchanged\n")
                for (text, problem) in [
                    ("schedules:\n  a: {cron: '61 * * * *', command: {type: noop}}", "“a”"),
                    ("schedules:\n  c: {cron: '@daily', command: {type: noop}}\n  d: {cron: '@daily'}", "“d”"),
                    ("schedules:\n  c: {cron: '@daily', zone: Europe/Pariss, command: {type: noop}}", "Europe/Pariss"),
                    ("schedules:\n  c: {cron: '@daily', command: {type: nope}}", "“nope”"),
                    ("schedules:\n  c: {cron: '@daily', command: {type: noop, payload: {x: 1}}}", "“c”"),
                    ("schedules:\n  c: {cron: '@daily', flow: {nodes: {x: {type: noop, after: y}}}}", "“y”"),
                    ("schedules:\n  c: {cron: '@daily', command: {type: noop, uniqueKey: k}}", "uniqueKey"),
                    ("zone: UTC", "“schedules” is missing"),
                    ("schedules:\n  c: {cron: '@daily', jitter: 2h, command: {type: noop, deadline: 1h}}", "jitter"),
                    (
                        "schedules:\n  c: {cron: '@daily', flow: {orderingKey: k, nodes: {x: {type: noop}}}}",
                        "“overlap” says"
                    ),
                ] {
                    let refused = try await apply(text)
                    #expect(refused.code == 65 && refused.errors.contains(problem), "\(text): \(refused.errors)")
                }
                let store = try installation.store()
                #expect(try store.schedules().map(\.name) == ["a", "b"])
                let pruned = try await apply(
                    "schedules:\n  a: {cron: '@every 20m', command: {type: noop}}", prunes: true)
                #expect(pruned.output == "a changed\nb removed\n", "\(pruned.errors)")
            }
        }
    }
}
