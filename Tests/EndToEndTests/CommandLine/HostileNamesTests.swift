import Commands
import Foundation
import TestSupport
import Testing

extension EndToEndTests {
    /// Names that are unusual or not UTF-8.
    struct HostileNamesTests {
        /// Bytes that are not UTF-8.
        private static let invalid: [UInt8] = Array("n".utf8) + [0xFF] + Array(".txt".utf8)
        /// The same bytes decoded with replacement characters.
        private static let replaced = "n\u{FFFD}.txt"
        private static let valid = [
            "\u{301}mark first", "line\nbreak", String(repeating: "ä", count: 127) + "x", "-zz", "%2F", "é",
            "e\u{301}",
        ]

        /// Runs `sluice` in the temporary directory with arguments of arbitrary bytes.
        private func run(
            _ installation: Installation, _ arguments: [[UInt8]], environment: String = "", in directory: String? = nil
        ) async throws -> Installation.Finished {
            let words = arguments.map { String(shellQuoting: $0) }.joined(separator: " ")
            let change = directory.map { "cd \($0) && " } ?? ""
            return try await installation.run(
                program: #require(program("bash")),
                ["-c", "\(change)\(environment) exec \(Installation.bin)/sluice \(words)"], within: .seconds(30))
        }

        private func bytes(_ words: String...) -> [[UInt8]] { words.map { Array($0.utf8) } }

        private func shell(_ installation: Installation, _ script: String) async throws {
            let done = try await installation.run(program: #require(program("bash")), ["-c", script])
            try #require(done.code == 0, "\(script): \(done.errors)")
        }

        /// The subcommands in the help, with those of `network` and `webhook`.
        private func subcommands(_ installation: Installation) async throws -> [[String]] {
            let help = try await installation.sluice("--help").output
            var names: [[String]] = []
            for line in help.split(separator: "\n") where line.hasPrefix("  ") {
                let word = String(line.dropFirst(2).prefix { $0 != " " })
                if !word.isEmpty, word.utf8.allSatisfy({ (97...122).contains($0) }) { names.append([word]) }
            }
            return names + [["network", "set"], ["webhook", "pause"], ["webhook", "resume"]]
        }

        /// The names in the temporary directory, with the contents of the files.
        private func bystanders(_ installation: Installation) throws -> [String: [UInt8]] {
            let names = try FileManager.default.contentsOfDirectory(atPath: installation.directory.path)
            return Dictionary(
                uniqueKeysWithValues: names.filter { !$0.hasPrefix("process-") }.map {
                    ($0, contents(of: "\(installation.directory.path)/\($0)") ?? [])
                })
        }

        @Test(.enabled(if: runsSlowTests, "slow"))
        func `every subcommand accepts every name or refuses it with an error, and changes no other file`()
            async throws
        {
            try await Installation.with { installation in
                let all = try await subcommands(installation)
                #expect(all.count >= 20, "\(all)")
                _ = try installation.directory.file(Self.replaced, [1, 2, 3])
                let before = try bystanders(installation)
                let names = Self.valid.map { Array($0.utf8) } + [Self.invalid]
                try await withThrowingTaskGroup(of: Void.self) { group in
                    var runs = all.flatMap { subcommand in names.map { (subcommand, $0) } }[...]
                    @Sendable func check(_ subcommand: [String], _ name: [UInt8]) async throws {
                        var lines = [subcommand.map { Array($0.utf8) } + [name]]
                        // With a valid name these services would make a directory of that name and never end.
                        if name == Self.invalid {
                            lines += [subcommand.map { Array($0.utf8) } + bytes("--data") + [name]]
                        }
                        for line in lines {
                            let finished = try await run(installation, line)
                            let shown =
                                "\(subcommand) \(String(shellQuoting: name)): \(finished.ending) \(finished.errors)"
                            let code = try #require(finished.code, "\(shown)")
                            #expect([1, 64, 65, 66, 69, 73, 77].contains(code), "\(shown)")
                            #expect(finished.errors.hasPrefix("sluice: "), "\(shown)")
                            guard name == Self.invalid else { continue }
                            #expect(finished.errors.contains(#"$'n\xff.txt'"#), "\(shown)")
                            #expect(code == 64 || code == 66, "\(shown)")
                        }
                    }
                    for _ in 0..<4 {
                        if let (subcommand, name) = runs.popFirst() {
                            group.addTask { try await check(subcommand, name) }
                        }
                    }
                    while try await group.next() != nil {
                        if let (subcommand, name) = runs.popFirst() {
                            group.addTask { try await check(subcommand, name) }
                        }
                    }
                }
                #expect(try bystanders(installation) == before)
                #expect(!FileManager.default.fileExists(atPath: installation.data))
            }
        }

        @Test func `a file whose name is not UTF-8 is refused by name, and no other file is uploaded`()
            async throws
        {
            try await Installation.with { installation in
                let here = installation.directory.path
                try await shell(installation, #"printf right > \#(here)/$'n\xff.txt'"#)
                _ = try installation.directory.file(Self.replaced, [1, 2, 3])
                for options in [bytes("--remove-source"), bytes("--spool"), bytes("--remove-source", "--wait")] {
                    let put = try await run(
                        installation, bytes("put") + [Self.invalid] + bytes("--to", "file://\(here)/o") + options)
                    #expect(put.code == 66, "\(put.errors)")
                    #expect(
                        put.errors
                            == "sluice: the file $'n\\xff.txt' cannot be put: its name is not valid UTF-8; rename it\n")
                }
                #expect(contents(of: "\(here)/\(Self.replaced)") == [1, 2, 3])
                #expect(!FileManager.default.fileExists(atPath: installation.data))
                try await shell(installation, #"test "$(cat \#(here)/$'n\xff.txt')" = right && test ! -e \#(here)/o"#)
            }
        }

        @Test func `a key, a directory or a variable that is not UTF-8 is refused before anything else`()
            async throws
        {
            try await Installation.with { installation in
                let here = installation.directory.path
                let file = try installation.directory.file("a", [1])
                let key: [UInt8] = [0x6B, 0xFF]
                let to = bytes("--to", "file://\(here)/o")
                let data = #"SLUICE_DATA=$'\xfe'"#
                let runs: [(Installation.Finished, Int32, String)] = [
                    (try await run(installation, bytes("put", file, "--unique-key") + [key] + to), 64, #"$'k\xff'"#),
                    (try await run(installation, bytes("submit", "noop", "--unique-key") + [key]), 64, #"$'k\xff'"#),
                    (
                        try await run(installation, bytes("submit", "noop", "--payload") + [[0x40, 0xFF]]), 64,
                        #"$'@\xff'"#
                    ),
                    (try await run(installation, bytes("put", file) + to, environment: data), 64, #"$'\xfe'"#),
                    (try await run(installation, bytes("status"), environment: data), 64, #"$'\xfe'"#),
                ]
                for (finished, code, word) in runs {
                    #expect(finished.code == code, "\(finished.errors)")
                    #expect(finished.errors.contains(word), "\(finished.errors)")
                }
                try await shell(
                    installation, #"cd \#(here) && mkdir $'d\xff' && echo > $'d\xff'/x && mkdir $'d\xef\xbf\xbd' "#)
                _ = try installation.directory.file("d\u{FFFD}/x", [1, 2])
                let put = try await run(installation, bytes("put", "x") + to, in: #"$'d\xff'"#)
                #expect(put.code == 66, "\(put.errors)")
                #expect(put.errors.contains(#"d\xff"#), "\(put.errors)")
                #expect(!FileManager.default.fileExists(atPath: installation.data))
            }
        }

        @Test func `a file with any valid name arrives unchanged, spooled or not`() async throws {
            try await Installation.with { installation in
                _ = try await installation.up()
                let here = installation.directory.path
                for (number, name) in Self.valid.enumerated() {
                    try await shell(installation, "printf \(number) > \(here)/\(String(shellQuoting: name.utf8))")
                }
                for options in [[], ["--spool"]] {
                    let target = try installation.directory.makeDirectory("o\(options.count)")
                    let files = Self.valid.map { Array("./\($0)".utf8) }
                    let put = try await run(
                        installation,
                        bytes("put") + files + bytes("--to", "file://\(target)/", "--wait")
                            + options.map { Array($0.utf8) })
                    #expect(put.code == 0, "\(put.errors)")
                    for (number, name) in Self.valid.enumerated() {
                        try await shell(
                            installation, "test \"$(cat \(target)/\(String(shellQuoting: name.utf8)))\" = \(number)")
                    }
                }
            }
        }

        @Test func `two files with one target are refused by name before anything is submitted`()
            async throws
        {
            try await Installation.with { installation in
                let (one, other) = (
                    try installation.directory.makeDirectory("a") + "/x",
                    try installation.directory.makeDirectory("b") + "/x"
                )
                for file in [one, other] { #expect(FileManager.default.createFile(atPath: file, contents: Data([1]))) }
                for options in [["--remove-source"], ["--spool"]] {
                    let put = try await installation.run(
                        program: "\(Installation.bin)/sluice",
                        ["put", one, other, "--to", "file://\(installation.directory.path)/o/"] + options)
                    #expect(put.code == 64, "\(put.errors)")
                    #expect(put.errors.contains(one) && put.errors.contains(other), "\(put.errors)")
                }
                #expect(contents(of: one) == [1] && contents(of: other) == [1])
                #expect(!FileManager.default.fileExists(atPath: installation.data))
            }
        }
    }
}
