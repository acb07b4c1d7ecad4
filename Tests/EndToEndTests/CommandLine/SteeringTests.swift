import Commands
import Foundation
import Sluice
import Store
import TestSupport
import Testing

extension EndToEndTests {
    /// The subcommands that change waiting and running commands.
    struct SteeringTests {
        @Test(.enabled(if: runsSlowTests, "slow"))
        func `paused commands wait, explain names the pause, and they run after resume`() async throws {
            try await Installation.with { installation in
                _ = try await installation.up()
                #expect(try await installation.sluice("pause", "--qos", "background").code == 0)
                let id = try await installation.sluice("submit", "noop", "--qos", "background").ids[0]
                // Other commands run meanwhile.
                #expect(try await installation.sluice("submit", "noop", "--wait").code == 0)
                #expect(try installation.store().command(id)?.status == .new)
                let explained = try await installation.sluice("explain", "\(id)")
                #expect(explained.output.contains("pause"), "\(explained.output)")
                let paused = try await installation.status()?["paused"]?.elements
                #expect(paused?.count == 1)
                #expect(try await installation.sluice("resume", "--qos", "background").code == 0)
                try await installation.await(id, .success, in: installation.store())
                #expect(try await installation.status()?["paused"]?.elements?.isEmpty == true)
            }
        }

        /// The worker dropped offers that overtook the end of the pause, and the coordinator missed them after 2 s.
        @Test(arguments: [["--qos", "default"], []])
        func `a command that was paused starts beside one that is submitted after resume`(flags: [String])
            async throws
        {
            try await Installation.with { installation in
                _ = try await installation.coordinator()
                _ = try await installation.worker()
                let store = try installation.store()
                let program = "\(Installation.bin)/sluice"
                #expect(try await installation.run(program: program, ["pause"] + flags).code == 0)
                let paused = try await installation.sluice("submit", "noop").ids[0]
                #expect(try await installation.run(program: program, ["resume"] + flags).code == 0)
                let fresh = try await installation.sluice("submit", "noop").ids[0]
                let ends = [
                    try await installation.await(paused, .success, in: store).updatedAt,
                    try await installation.await(fresh, .success, in: store).updatedAt,
                ]
                #expect((ends[0] - ends[1]).seconds < 1, "\(ends)")
            }
        }

        @Test func `requalify changes the quality of service of a waiting command`() async throws {
            try await Installation.with { installation in
                let id = try await installation.sluice("submit", "noop").ids[0]
                let changed = try await installation.sluice("requalify", "\(id)", "--qos", "userInteractive")
                #expect(changed.code == 0, "\(changed.errors)")
                #expect(try installation.store().command(id)?.qos == .userInteractive)
                let unknown = try await installation.sluice("requalify", "\(CommandID())", "--qos", "utility")
                #expect(unknown.code == 66, "\(unknown.errors)")
            }
        }

        @Test func `a waiting command with a better quality of service overtakes earlier commands`()
            async throws
        {
            try await Installation.with { installation in
                _ = try await installation.coordinator()
                _ = try await installation.worker("--concurrency", "1")
                let store = try installation.store()
                let busy = try await installation.sluice("submit", "noop", "--payload", #"{"milliseconds":600000}"#)
                    .ids[0]
                try await installation.await(busy, .sent, in: store)
                // Submitted first, with the lowest quality of service: without a change it would run last.
                let first = try await installation.sluice(
                    "submit", "noop", "--payload", #"{"milliseconds":50}"#, "--qos", "background"
                ).ids[0]
                let bulk = [String](repeating: #"{"payload":{"milliseconds":50}}"#, count: 4).joined(separator: "\n")
                let others = try await installation.sluice(
                    "submit", "noop", "--payload", "-", "--qos", "utility", input: bulk
                ).ids
                #expect(others.count == 4)
                let changed = try await installation.sluice("requalify", "\(first)", "--qos", "utility")
                #expect(changed.code == 0, "\(changed.errors)")
                #expect(try await installation.sluice("cancel", "\(busy)").code == 0)
                for id in [first] + others { try await installation.await(id, .success, in: store) }
                func claimed(_ id: CommandID) throws -> Timestamp {
                    try #require(try store.timeline(id).first { $0.status == .queued }).at
                }
                let (own, later) = (try claimed(first), try others.map(claimed))
                #expect(later.allSatisfy { $0 > own }, "\(own), the others \(later)")
            }
        }

        @Test(.enabled(if: runsSlowTests, "slow")) func `not-before and deadline are observed`() async throws {
            try await Installation.with { installation in
                _ = try await installation.up()
                let store = try installation.store()
                let early = try await installation.sluice("submit", "noop", "--not-before", "10m").ids[0]
                let due = try await installation.sluice("submit", "noop", "--not-before", "1s").ids[0]
                let late = try await installation.sluice(
                    "submit", "noop", "--payload", #"{"milliseconds":60000}"#, "--deadline", "2s"
                ).ids[0]
                try await installation.await(due, .success, in: store)
                let timeline = try store.timeline(due)
                let first = try #require(timeline.first)
                let claimed = try #require(timeline.dropFirst().first)
                #expect(claimed.at.milliseconds - first.at.milliseconds >= 900)
                // The command is cancelled while it runs.
                let ended = try await installation.await(late, .cancelled, in: store)
                #expect(ended.reason?.contains("deadline") == true, "\(ended.reason ?? "")")
                let waiting = try #require(try store.command(early))
                #expect(waiting.status == .new && waiting.claim == 0)
                let explained = try await installation.sluice("explain", "\(early)")
                #expect(explained.output.contains("notBefore") || explained.output.contains("not before"))
            }
        }

        @Test func `a command whose deadline passes while it is paused says so`() async throws {
            try await Installation.with { installation in
                _ = try await installation.coordinator()
                #expect(try await installation.sluice("pause").code == 0)
                let id = try await installation.sluice("submit", "noop", "--deadline", "1s").ids[0]
                let ended = try await installation.await(id, .cancelled, in: installation.store())
                #expect(ended.reason == "its deadline passed; it was paused", "\(ended.reason ?? "")")
            }
        }

        @Test func `a second submit with a unique key returns the first command, or a conflict`() async throws {
            try await Installation.with { installation in
                let first = try await installation.sluice("submit", "noop", "--unique-key", "one")
                let second = try await installation.sluice("submit", "noop", "--unique-key", "one")
                #expect(first.code == 0 && second.code == 0 && first.ids == second.ids)
                let other = try await installation.sluice(
                    "submit", "noop", "--payload", #"{"milliseconds":1}"#, "--unique-key", "one")
                #expect(other.code == 65, "\(other.errors)")
                #expect(other.errors.contains("\(first.ids[0])"))
                // A bulk submit prints the line of each UUID.
                let lines = try await installation.sluice(
                    "submit", "noop", "--json", "--payload", "-",
                    input:
                        "{\"payload\":{}}\n{\"payload\":{\"milliseconds\":1},\"uniqueKey\":\"one\"}\n{\"payload\":{}}\n"
                )
                #expect(lines.code == 65)
                #expect(lines.errors.contains("line 2"), "\(lines.errors)")
                let numbers = try lines.lines.map { try JSONValue(parsing: Array($0.utf8))["line"]?.integer }
                #expect(numbers == [1, 3])
            }
        }

        @Test func `list filters, and continues after a given command`() async throws {
            try await Installation.with { installation in
                var ids: [CommandID] = []
                for _ in 0..<5 { ids += try await installation.sluice("submit", "noop").ids }
                let background = try await installation.sluice("submit", "noop", "--qos", "background").ids
                #expect(try await installation.sluice("cancel", "\(ids[4])").code == 0)
                func listed(_ arguments: [String]) async throws -> [CommandID] {
                    let list = try await installation.run(
                        program: "\(Installation.bin)/sluice", ["list", "--json"] + arguments)
                    return try list.lines.compactMap {
                        try JSONValue(parsing: Array($0.utf8))["id"]?.string.flatMap { CommandID($0) }
                    }
                }
                #expect(try await listed(["--qos", "background"]) == background)
                #expect(try await listed(["--status", "cancelled"]) == [ids[4]])
                var seen: [CommandID] = []
                while true {
                    let behind = seen.last.map { ["--after", "\($0)"] } ?? []
                    let page = try await listed(["--limit", "2"] + behind)
                    if page.isEmpty { break }
                    #expect(page.count <= 2)
                    seen += page
                }
                #expect(Set(seen) == Set(ids + background) && seen.count == 6)
            }
        }

        @Test(.filesOnly("a store on a server is backed up with its server"))
        func `a backup is complete, and is not overwritten`() async throws {
            try await Installation.with { installation in
                let ids = try await installation.sluice("submit", "noop").ids
                let copy = "\(installation.directory.path)/copy"
                let backup = try await installation.sluice("backup", copy)
                #expect(backup.code == 0, "\(backup.errors)")
                let status = try await installation.sluice("status", "--json", "\(ids[0])", "--data", copy)
                #expect(status.code == 0, "\(status.errors)")
                let again = try await installation.sluice("backup", copy)
                #expect(again.code != 0, "a backup never overwrites")
            }
        }
    }
}
