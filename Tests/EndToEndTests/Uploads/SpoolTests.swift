import Commands
import Foundation
import Store
import TestSupport
import Testing

extension EndToEndTests {
    /// The life of the copies of `put --spool`.
    struct SpoolTests {
        private func copies(_ installation: Installation) throws -> [String] {
            try FileManager.default.contentsOfDirectory(atPath: "\(installation.data)/spool")
        }

        @Test func `a copy is deleted with its command, however the data directory is spelled`() async throws {
            try await Installation.with { installation in
                let source = try installation.directory.file("a", [1, 2, 3])
                let here = try #require(installation.directory.path.split(separator: "/").last)
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
                let source = try installation.directory.file("a", [1, 2, 3])
                let other = try installation.directory.file("b", [4])
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
                // The key compares the file, spooled or not.
                #expect(try await put(source).ids == [id])
                let refused = try await put(other, "--spool")
                #expect(refused.code == 65, "\(refused.errors)")
                #expect(refused.errors.contains("\(id)"), "\(refused.errors)")
                // Neither of the two leaves a copy, and the first command still has its own.
                #expect(try copies(installation).count == 1)
                #expect(contents(of: copy) == [1, 2, 3])
            }
        }

        @Test(.enabled(if: runsSlowTests, "slow"), arguments: [SIGINT, SIGTERM, SIGHUP])
        func `a long copy shows its progress, and a signal removes it`(by signal: Int32)
            async throws
        {
            try await Installation.with { installation in
                let small = try installation.directory.file("small", [1])
                let large = try installation.directory.solidFile("large", 6 << 30)
                let terminal = try Pseudoterminal()
                let put = try installation.start(
                    "put", small, large, "--spool", "--to", "file:///nowhere/", terminal: terminal)
                try await until("a line of progress") { terminal.output.contains("copying  ") || put.ending != nil }
                // On a file system that shares blocks every copy is fast, and the test cannot interrupt one.
                guard put.ending == nil else {
                    #expect(put.ending == .exited(0), "\(terminal.output)")
                    return
                }
                #expect(terminal.output.contains("1/2 done"))
                #expect(terminal.output.contains(" of 6.4 GB"))
                if signal == SIGINT { terminal.type("\u{3}") } else { put.signal(signal) }
                #expect(try await put.end(within: .seconds(30)) == .exited(128 + signal))
                #expect(terminal.output.contains("nothing was submitted"))
                #expect(try copies(installation).isEmpty)
                let counts = try installation.store().counts()
                #expect(counts[.new] == 0)
            }
        }

        @Test func `the copies of a killed put are deleted by the next put, by prune and by a coordinator`()
            async throws
        {
            try await Installation.with { installation in
                let source = try installation.directory.file("a", [1, 2, 3])
                let large = try installation.directory.solidFile("large", 6 << 30)
                /// - Returns: whether it left a copy; on a file system that shares blocks every copy is too
                /// fast to interrupt.
                func killed() async throws -> Bool {
                    let put = try installation.start("put", source, large, "--spool", "--to", "file:///nowhere/")
                    func parts() throws -> Int {
                        try FileManager.default.subpathsOfDirectory(atPath: "\(installation.data)/spool")
                            .count { $0.contains(".part/") }
                    }
                    try await until("a second copy has begun") {
                        try put.ending != nil || access("\(installation.data)/spool", F_OK) == 0 && parts() == 2
                    }
                    guard put.ending == nil else { return false }
                    // The copy of a running put belongs to it.
                    #expect(try await installation.sluice("prune").code == 0)
                    #expect(try parts() == 2)
                    put.signal(SIGKILL)
                    #expect(try await put.end(within: .seconds(10)) == .signalled(SIGKILL))
                    return true
                }
                guard try await killed() else { return }
                #expect(try copies(installation).count == 1)
                #expect(try await installation.sluice("prune").code == 0)
                #expect(try copies(installation).isEmpty)

                #expect(try await killed())
                let next = try await installation.sluice("put", source, "--spool", "--to", "file:///nowhere/")
                #expect(next.code == 0, "\(next.errors)")
                #expect(try copies(installation).map { CommandID($0) }.allSatisfy { $0 != nil })
                #expect(try copies(installation).count == 1)

                #expect(try await killed())
                let coordinator = try installation.start("coordinator")
                try await until("the spool is swept") { try copies(installation).count == 1 }
                coordinator.signal(SIGTERM)
                #expect(try await coordinator.end(within: .seconds(10)) == .exited(0))
                // The copy of the existing command remains.
                for copy in try copies(installation) {
                    #expect(contents(of: "\(installation.data)/spool/\(copy)") == [1, 2, 3])
                }
            }
        }
    }
}
