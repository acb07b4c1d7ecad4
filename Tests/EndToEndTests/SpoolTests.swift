import Commands
import Foundation
import Store
import TestSupport
import Testing

extension EndToEndTests {
    /// What becomes of the copies of `put --spool`.
    struct SpoolTests {
        private func copies(_ installation: Installation) throws -> [String] {
            try FileManager.default.contentsOfDirectory(atPath: "\(installation.data)/spool")
        }

        @Test func `a copy goes with its command, however the data directory is spelled`() async throws {
            try await Installation.with { installation in
                let source = try installation.place.file("a", [1, 2, 3])
                let here = try #require(installation.place.path.split(separator: "/").last)
                let spellings = [
                    ("./data", "./data"), ("data", "data/"), ("../\(here)/data", "./data"),
                    ("data/", installation.data), (installation.data, "./data/../data"),
                ]
                for (putting, pruning) in spellings {
                    let put = try await installation.sluice(
                        "put", source, "--spool", "--to", "file:///nowhere/", "--data", putting)
                    #expect(put.code == 0, "\(put.errors)")
                    #expect(try copies(installation).count == 1)
                    let id = try #require(put.ids.first)
                    let cancel = try await installation.sluice("cancel", "\(id)", "--data", putting)
                    #expect(cancel.code == 0, "\(cancel.errors)")
                    let prune = try await installation.sluice("prune", "--older-than", "0s", "--data", pruning)
                    #expect(prune.output == "1 command removed\n", "\(prune.errors)")
                    #expect(try copies(installation).isEmpty, "put to \(putting), pruned in \(pruning)")
                }
                #expect(contents(of: source) == [1, 2, 3])
            }
        }

        @Test func `the same file under the same key is one command with one copy`() async throws {
            try await Installation.with { installation in
                let source = try installation.place.file("a", [1, 2, 3])
                let other = try installation.place.file("b", [4])
                func put(_ file: String, _ more: String...) async throws -> Installation.Finished {
                    try await installation.run(
                        program: "\(Installation.bin)/sluice",
                        ["put", file, "--unique-key", "once", "--to", "file:///nowhere/"] + more)
                }
                let first = try await put(source, "--spool")
                #expect(first.code == 0, "\(first.errors)")
                let id = try #require(first.ids.first)
                let payload = try #require(try installation.store().payload(id))
                let copy = try #require(try JSONValue(parsing: payload)["file"]?.string)

                let again = try await put(source, "--spool")
                #expect(again.code == 0, "\(again.errors)")
                #expect(again.ids == [id])
                // It is the file that counts, copied or not.
                #expect(try await put(source).ids == [id])
                let refused = try await put(other, "--spool")
                #expect(refused.code == 65, "\(refused.errors)")
                #expect(refused.errors.contains("\(id)"), "\(refused.errors)")
                // Neither has left a copy, and the first still has its own.
                #expect(try copies(installation).count == 1)
                #expect(contents(of: copy) == [1, 2, 3])
            }
        }

        @Test(arguments: [SIGINT, SIGTERM, SIGHUP])
        func `a long copy tells how far it is, and Ctrl-C leaves nothing of it, nor another end`(by signal: Int32)
            async throws
        {
            try await Installation.with { installation in
                let small = try installation.place.file("small", [1])
                let large = try installation.place.file("large", [])
                #expect(truncate(large, 64 << 30) == 0)
                let terminal = try Pseudoterminal()
                let put = try installation.start(
                    "put", small, large, "--spool", "--to", "file:///nowhere/", terminal: terminal)
                try await until("a line of progress") { terminal.output.contains("copying  ") || put.ending != nil }
                // Where the file system shares blocks, every copy is a short one.
                guard put.ending == nil else {
                    #expect(put.ending == .exited(0), "\(terminal.output)")
                    return
                }
                #expect(terminal.output.contains("1/2 done"))
                #expect(terminal.output.contains(" of 69 GB"))
                if signal == SIGINT { terminal.type("\u{3}") } else { put.signal(signal) }
                #expect(try await put.end(within: .seconds(30)) == .exited(128 + signal))
                #expect(terminal.output.contains("nothing was submitted"))
                #expect(try copies(installation).isEmpty)
                let counts = try installation.store().counts()
                #expect(counts[.new] == 0)
            }
        }
    }
}
