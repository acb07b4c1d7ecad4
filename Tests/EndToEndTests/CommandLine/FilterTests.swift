import Commands
import Foundation
import Store
import TestSupport
import Testing

extension EndToEndTests {
    /// The filters of `list`, `retry`, `cancel`, `requalify` and `resolve`, and the sentences where a list is cut.
    struct FilterTests {
        /// - Returns: the ids of 300 no-ops, of which the first 250 are cancelled.
        private static func commands(_ installation: Installation) async throws -> [CommandID] {
            let lines = [String](repeating: #"{"payload":{"milliseconds":0}}"#, count: 300).joined(separator: "\n")
            let ids = try await installation.sluice("submit", "noop", "--payload", "-", input: lines).ids.sorted()
            let store = try installation.store()
            for id in ids.prefix(250) { _ = try store.cancel(id, reason: "cancelled by a test") }
            return ids
        }

        /// Other lists that took a page for the whole: `flow list` and `batch list` (20 rows), `uploads list` (50).
        @Test func `a list that is cut says how many there are, and its ids alone are all of them`() async throws {
            try await Installation.with { installation in
                let ids = try await Self.commands(installation)
                let cut = try await installation.sluice("list", "--status", "cancelled")
                #expect(
                    cut.lines.count == 101 && cut.errors.contains("the oldest 100 of 250 commands"), "\(cut.errors)")
                let others = try await installation.sluice("list", "--error", "by a TEST", "--limit", "7")
                #expect(others.lines.count == 8 && others.errors.contains("there are more"), "\(others.errors)")
                let whole = try await installation.sluice(
                    "list", "--status", "cancelled", "--status", "new", "--limit", "0", "-q")
                #expect(whole.ids == ids && whole.errors.isEmpty, "\(whole.errors)")
                let exact = try await installation.sluice("list", "--status", "new", "--limit", "50", "-q")
                #expect(exact.ids == Array(ids.suffix(50)) && exact.errors.isEmpty, "\(exact.errors)")
            }
        }

        @Test func `lists of batches and uploads that are cut say so`() async throws {
            try await Installation.with { installation in
                for name in ["a", "b"] {
                    #expect(try await installation.sluice("batch", "open", "--name", name).code == 0)
                }
                let store = try installation.store()
                for _ in 0..<2 {
                    let id = CommandID()
                    let upload = Upload(
                        id: id, length: 1, facts: UploadFacts(origin: .tus), createdAt: .now)
                    _ = try store.apply([.create(upload)], shard: id.shard(of: store.shardCount))
                }
                for list in [["batch", "list"], ["uploads", "list"]] {
                    let cut = try await installation.run(
                        program: "\(Installation.bin)/sluice", list + ["--limit", "1"])
                    #expect(cut.errors.contains("these are the newest 1"), "\(list): \(cut.errors)")
                    let whole = try await installation.run(
                        program: "\(Installation.bin)/sluice", list + ["--limit", "2"])
                    #expect(whole.code == 0 && whole.errors.isEmpty, "\(list): \(whole.errors)")
                }
            }
        }

        @Test func `retry and cancel change all commands of a filter, and none at a dry run`() async throws {
            try await Installation.with { installation in
                let ids = try await Self.commands(installation)
                let store = try installation.store()
                let dry = try await installation.sluice("retry", "--status", "cancelled", "--dry-run")
                #expect(dry.ids == Array(ids.prefix(250)) && dry.errors.contains("250 commands"), "\(dry.errors)")
                #expect(try store.counts()[.cancelled] == 250)
                let retried = try await installation.sluice("retry", "--status", "cancelled")
                #expect(retried.code == 0 && retried.errors.contains("changed 250 of 250"), "\(retried.errors)")
                #expect(try store.counts()[.new] == 300)
                let requalified = try await installation.sluice(
                    "requalify", "--from-qos", "default", "--newer-than", "1h", "--qos", "background")
                #expect(requalified.code == 0, "\(requalified.errors)")
                #expect(try store.counts()[.new, .background] == 300)
                let cancelled = try await installation.sluice("cancel", "--type", "noop", "--qos", "background")
                #expect(cancelled.code == 0 && cancelled.lines.count == 300, "\(cancelled.errors)")
                #expect(try store.counts()[.cancelled] == 300)
            }
        }

        @Test func `a change of no command, and of ids and a filter at once, is refused`() async throws {
            try await Installation.with { installation in
                let id = try await installation.sluice("submit", "noop").ids[0]
                for verb in ["retry", "cancel"] {
                    let nothing = try await installation.sluice(verb)
                    #expect(nothing.code == 64 && nothing.errors.contains("--status gaveUp"), "\(nothing.errors)")
                    let both = try await installation.sluice(verb, "\(id)", "--type", "noop")
                    #expect(both.code == 64, "\(both.errors)")
                }
                let failed = try await installation.sluice("list", "--status", "failed")
                #expect(failed.code == 64 && failed.errors.contains("Did you mean error"), "\(failed.errors)")
                // Without a status, only what has failed is retried.
                let waiting = try await installation.sluice("retry", "--type", "noop")
                #expect(waiting.code == 0 && waiting.errors.contains("no command matches"), "\(waiting.errors)")
                let none = try await installation.sluice("retry", "--failed-within", "1h")
                #expect(none.code == 0 && none.errors.contains("no command matches"), "\(none.errors)")
                #expect(try installation.store().command(id)?.status == .new)
            }
        }

        @Test(arguments: ["n", "y"]) func `a terminal is asked before a filter changes commands`(_ answer: String)
            async throws
        {
            try await Installation.with { installation in
                _ = try await Self.commands(installation)
                let terminal = try Pseudoterminal(columns: 100)
                let cancel = try installation.start("cancel", "--status", "new", terminal: terminal)
                try await until("the question") { terminal.output.contains("Cancel 50 commands (50 new)? [y/N]") }
                terminal.type("\(answer)\n")
                let ending = try await installation.finished(cancel)
                #expect(ending.code == (answer == "y" ? 0 : 1))
                #expect(try installation.store().counts()[.cancelled] == (answer == "y" ? 300 : 250))
            }
        }

        @Test func `a command that was given up is so in tables, by either name of its status`() async throws {
            try await Installation.with { installation in
                let id = try await installation.sluice("submit", "noop").ids[0]
                let store = try installation.store()
                try store.open(Session(seat: 9, epoch: 1, pid: 1, startTime: 2, bootID: "another"))
                _ = try store.apply(
                    [.claim(id, sent: true), .end(id, claim: 1, .failure(CommandFailure(.final, reason: "404")))],
                    shard: id.shard(of: store.shardCount), seat: 9, epoch: 1, timeout: .seconds(1))
                for status in ["gaveUp", "tooManyTimes"] {
                    let list = try await installation.sluice("list", "--status", status)
                    #expect(list.lines.count == 2 && list.lines[1].contains("gave up"), "\(list.output)")
                }
                let json = try await installation.sluice("list", "--json").json()
                #expect(json["status"]?.string == "tooManyTimes")
                #expect(try await installation.sluice("status").output.contains("gave up"))
            }
        }

        @Test func `the forms of a list for programs have the file and the URL`() async throws {
            try await Installation.with { installation in
                let file = try installation.directory.file("clip.mov", [1])
                let put = try await installation.sluice("put", file, "--to", "http://127.0.0.1:9/in/?token=secret")
                #expect(put.code == 0, "\(put.errors)")
                let json = try await installation.sluice("list", "--json").json()
                #expect(json["file"]?.string == file)
                #expect(json["url"]?.string?.hasPrefix("http://127.0.0.1:9/in/") == true)
                let table = try await installation.sluice("list")
                #expect(table.lines[0].contains("FILE OR URL") && table.lines[1].contains(file), "\(table.output)")
                #expect(!table.output.contains("secret") && json["url"]?.string?.contains("secret") == false)
            }
        }
    }
}
