import Commands
import Foundation
import Store
import TestSupport
import Testing

extension EndToEndTests {
    /// Batches, and commands that wait for others in other shards, with real processes.
    struct BatchTests {
        private static func lines(_ count: Int, _ payload: String = "{}") -> String {
            String(repeating: #"{"payload":\#(payload)}"# + "\n", count: count)
        }

        /// Does not end before it is cancelled.
        private static let long = #"{"milliseconds":60000}"#

        @Test func `a batch over all shards ends once, and its callback runs`() async throws {
            try await Installation.with { installation in
                let up = try await installation.up()
                let submitted = try await installation.sluice(
                    "batch", "submit", "noop", "-", "--name", "import", "--then-success",
                    #"{"type":"noop","payload":{"milliseconds":1}}"#, "--wait", input: Self.lines(500))
                #expect(submitted.code == 0, "\(submitted.errors)")
                let batch = try #require(submitted.ids.first)
                let shown = try await installation.sluice("batch", "\(batch)")
                #expect(shown.output.contains("success · 500 of 500 ended"), "\(shown.output)")
                let store = try installation.store()
                let shards = Set(try store.list(CommandFilter(), after: nil, limit: 1000).map { $0.id.shard(of: 8) })
                // A bulk goes to one shard of a server, whose shards share each commit.
                if installation.serverStore == nil { #expect(shards.count == 8) }
                try await until("the callback has run", within: .seconds(10)) {
                    try store.counts()[.success] == 502
                }
                #expect(try store.timeline(batch).map(\.status) == [.blocked, .success])
                let listed = try await installation.sluice("batch", "list", "--json")
                #expect(try listed.json()["ended"]?.integer == 500)
                up.signal(SIGTERM)
                _ = try await up.end(within: .seconds(30))
            }
        }

        @Test func `an invalid line leaves the batch open, and the rest is added and sealed`() async throws {
            try await Installation.with { installation in
                let first = try await installation.sluice(
                    "batch", "submit", "noop", "-", input: Self.lines(3, Self.long) + "{\"payload\":\n")
                let batch = try #require(first.ids.first)
                #expect(first.code == 65 && first.errors.contains("line 4"), "\(first.errors)")
                #expect(first.errors.contains("--into \(batch)"), "\(first.errors)")
                let status = try #require(try await installation.status())
                guard case .array(let open)? = status["batches"]?["newest"] else {
                    throw Missed("no batches: \(status)")
                }
                #expect(open.map { $0["id"]?.string } == ["\(batch)"] && open.first?["members"]?.integer == 3)
                #expect(try await installation.sluice("status").output.contains("batches      1 open"))
                let explained = try await installation.sluice("explain", "\(batch)")
                #expect(explained.output.contains("it is not sealed"), "\(explained.output)")
                let rest = try await installation.sluice(
                    "batch", "submit", "noop", "-", "--into", "\(batch)", "--json", input: Self.lines(2, Self.long))
                #expect(rest.code == 0, "\(rest.errors)")
                #expect(try rest.json()["members"]?.integer == 5 && rest.json()["sealed"]?.bool == true)
                let late = try await installation.sluice("submit", "noop", "--batch", "\(batch)")
                #expect(late.code != 0 && late.errors.contains("sealed"), "\(late.errors)")
                let members = try await installation.sluice("list", "--batch", "\(batch)", "--json")
                #expect(members.output.split(separator: "\n").count == 5)
                let cancelled = try await installation.sluice("cancel", "\(batch)")
                #expect(cancelled.output.contains("its members are cancelled"), "\(cancelled.output)")
                let up = try await installation.up()
                let store = try installation.store()
                try await until("the batch is cancelled", within: .seconds(10)) {
                    try store.command(batch)?.status == .cancelled
                }
                #expect(try store.counts()[.cancelled] == 6)
                up.signal(SIGTERM)
                _ = try await up.end(within: .seconds(30))
            }
        }

        @Test func `Ctrl-C says that the batch is open, and how to go on`() async throws {
            try await Installation.with { installation in
                // Standard input stays open.
                let script =
                    "mkfifo lines; exec 0<>lines; printf '{\"payload\":{}}\\n' >lines; exec \(Installation.bin)/sluice "
                    + "batch submit noop -"
                let child = try installation.start(program: "/bin/sh", ["-c", script])
                try await until("the batch") { !child.output.isEmpty }
                child.signal(SIGINT)
                #expect(try await child.end(within: .seconds(10)) == .exited(130))
                let id = child.output.trimmingCharacters(in: .whitespacesAndNewlines)
                #expect(child.errors.contains("batch \(id) is open") && child.errors.contains("--into \(id)"))
            }
        }

        @Test func `a failed member fails the batch, and a retry of the batch runs the member again`() async throws {
            try await Installation.with { installation in
                let up = try await installation.up()
                let opened = try await installation.sluice("batch", "open", "--name", "two")
                let batch = try #require(opened.ids.first)
                let file = "\(installation.data)/../missing"
                let bad = try await installation.sluice(
                    "submit", "request", "--batch", "\(batch)", "--retry-limit", "0", "--payload",
                    #"{"url":"file://\#(file)"}"#, "--wait")
                #expect(bad.code == 1, "\(bad.output)\(bad.errors)")
                #expect(try await installation.sluice("submit", "noop", "--batch", "\(batch)", "--wait").code == 0)
                let sealed = try await installation.sluice("batch", "seal", "\(batch)", "--wait")
                #expect(sealed.code == 1)
                let shown = try await installation.sluice("batch", "\(batch)")
                #expect(shown.output.contains("gave up · 2 of 2 ended · 1 failed"), "\(shown.output)")
                let retried = try await installation.sluice("retry", "\(batch)")
                #expect(
                    retried.code == 0 && retried.output.contains("1 failed member will be run again"),
                    "\(retried.output)\(retried.errors)")
                let store = try installation.store()
                try await until("the batch fails again") {
                    try store.timeline(batch).count { $0.status == .tooManyTimes } == 2
                }
                let sound = try await installation.sluice("batch", "open", "--name", "none")
                let other = try #require(sound.ids.first)
                let refused = try await installation.sluice("retry", "\(other)")
                #expect(refused.code == 1 && refused.errors.contains("without failed members"), "\(refused.errors)")
                up.signal(SIGTERM)
                _ = try await up.end(within: .seconds(30))
            }
        }

        @Test
        func `a command runs after parents in other shards, also when the coordinator is killed`()
            async throws
        {
            try await Installation.with { installation in
                let first = try await installation.coordinator()
                let worker = try await installation.worker()
                var parents: [CommandID] = []
                while Set(parents.map { $0.shard(of: 8) }).count < 3 {
                    parents += try await installation.sluice(
                        "submit", "noop", "--payload", #"{"milliseconds":300}"#
                    ).ids
                }
                let milliseconds = #"{"$result": "\#(parents[0])/none", "default": 1}"#
                let after = parents.map { "\"\($0)\"" }.joined(separator: ",")
                let child = try await installation.sluice(
                    "submit", "noop", "-",
                    input: #"{"payload":{"milliseconds":\#(milliseconds)},"after":[\#(after)]}"#)
                #expect(child.code == 0, "\(child.errors)")
                let id = try #require(child.ids.first)
                first.signal(SIGKILL)
                _ = try await first.end(within: .seconds(10))
                let second = try await installation.coordinator()
                let store = try installation.store()
                try await until("the child has run", within: .seconds(20)) { try store.command(id)?.status == .success }
                let ends = try parents.map { try #require(try store.timeline($0).last).at }
                let begun = try #require(try store.timeline(id).first { $0.status == .sent }).at
                #expect(ends.allSatisfy { $0 <= begun })
                for process in [worker, second] {
                    process.signal(SIGTERM)
                    _ = try await process.end(within: .seconds(30))
                }
            }
        }
    }
}
