import Commands
import Foundation
import Store
import TestSupport
import Testing

extension EndToEndTests {
    /// Bad input costs a clear error and nothing else: a documented exit code, one line on standard error, nothing half
    /// done.
    struct BadInputTests {
        /// One line that says what is wrong, nothing on standard output, and no command in the store.
        func expect(
            _ finished: Installation.Finished, code: Int32, saying words: String..., in installation: Installation,
            commands: Int = 0, sourceLocation: SourceLocation = #_sourceLocation
        ) throws {
            #expect(finished.code == code, "\(finished.ending): \(finished.errors)", sourceLocation: sourceLocation)
            #expect(finished.output.isEmpty, sourceLocation: sourceLocation)
            let said = finished.errors.split(separator: "\n")
            // The parser of arguments adds its usage and a pointer to --help.
            #expect(
                code == 64 ? (1...12).contains(said.count) : said.count == 1, "\(finished.errors)",
                sourceLocation: sourceLocation)
            for word in words {
                #expect(finished.errors.contains(word), "\(finished.errors)", sourceLocation: sourceLocation)
            }
            if FileManager.default.fileExists(atPath: installation.data) {
                let counts = try installation.store().counts()
                let all = CommandStatus.allCases.reduce(0) { $0 + counts[$1] }
                #expect(all == commands, sourceLocation: sourceLocation)
            }
        }

        @Test func `a source that is missing or a directory is named, with 66`() async throws {
            try await Installation.with { installation in
                let here = installation.place.path
                let good = try installation.place.file("good", [1, 2, 3])
                let missing = "\(here)/missing"
                try expect(
                    await installation.sluice("put", good, missing, "--to", "file://\(here)/to/"), code: 66,
                    saying: missing, in: installation)
                try expect(
                    await installation.sluice("put", here, "--to", "file://\(here)/to/"), code: 66, saying: here,
                    in: installation)
                try expect(
                    await installation.sluice("put", "/dev/null", "--to", "file://\(here)/to/"), code: 66,
                    saying: "/dev/null", in: installation)
                try expect(
                    await installation.sluice("submit", "noop", "--payload", "@\(missing)"), code: 66, saying: missing,
                    in: installation)
            }
        }

        @Test(.enabled(if: runsSlowTests, "slow"))
        func `too few descriptors are said, with 75, and nothing is half done`() async throws {
            try await Installation.with { installation in
                #expect(try await installation.sluice("submit", "noop").code == 0)
                // As many as it needs differ by system and library; one fewer is the case.
                for most in stride(from: 64, to: 12, by: -1) {
                    let finished = try await installation.run(
                        program: "/bin/sh", ["-c", "ulimit -n \(most); exec \(Installation.bin)/sluice submit noop"])
                    if finished.code == 0 { continue }
                    return try expect(
                        finished, code: 75, saying: "descriptors", "ulimit -n", in: installation, commands: 65 - most)
                }
                Issue.record("12 descriptors are enough")
            }
        }

        @Test func `a source that cannot be read is named, with 66`() async throws {
            try await Installation.with { installation in
                let secret = try installation.place.file("secret", [1, 2, 3])
                chmod(secret, 0o000)
                let finished = try await installation.asNobody("put", secret, "--to", "file:///tmp/")
                #expect(finished.code == 66, "\(finished.errors)")
                #expect(finished.errors.contains(secret))
                #expect(finished.output.isEmpty)
            }
        }

        @Test(arguments: [
            ("gopher://host/x", "gopher"), ("http://", "http://"), ("http://host:99999/", "99999"),
            ("not a url", "not a url"), ("", "--to"), ("http:///x", "http:///x"), ("http://[::1/", "http://[::1/"),
        ])
        func `an unknown scheme or a malformed URL is named, with 64`(url: String, word: String) async throws {
            try await Installation.with { installation in
                let good = try installation.place.file("good", [1, 2, 3])
                try expect(
                    await installation.sluice("put", good, "--to", url), code: 64, saying: word, in: installation)
            }
        }

        @Test func `an unknown subcommand, flag, quality or UUID is 64`() async throws {
            try await Installation.with { installation in
                #expect(try await installation.sluice("submit", "noop").code == 0)
                let wrong: [([String], String)] = [
                    (["frobnicate"], "frobnicate"), (["frobnicate", "--json"], "“frobnicate”"),
                    (["status", "--frobnicate"], "--frobnicate"),
                    (["submit", "noop", "--qos", "highest"], "highest"), (["cancel", "1234"], "1234"),
                    (["status", "018f3c5e-9a7b-7c1d-8e2f-0a1b2c3d4e5g"], "018f3c5e"), (["submit", "No Op"], "No Op"),
                    (["list", "--status", "done"], "done"), (["submit", "noop", "--deadline", "soon"], "soon"),
                    (["worker", "--concurrency", "0"], "concurrency"),
                    (["submit", "noop", "--retry-limit=-1"], "retry-limit"),
                ]
                for (arguments, word) in wrong {
                    let finished = try await installation.run(
                        program: "\(Installation.bin)/sluice", arguments)
                    try expect(finished, code: 64, saying: word, in: installation, commands: 1)
                }
            }
        }

        @Test func `a command that is not there is 66`() async throws {
            try await Installation.with { installation in
                #expect(try await installation.sluice("submit", "noop").code == 0)
                let id = CommandID().description
                for verb in ["status", "cancel", "retry", "explain"] {
                    let finished = try await installation.sluice(verb, id)
                    try expect(finished, code: 66, saying: id, in: installation, commands: 1)
                }
            }
        }

        @Test func `a bulk without a type is told where it goes, with 64, and help describes each value or none`()
            async throws
        {
            try await Installation.with { installation in
                try expect(
                    await installation.sluice("submit", "-"), code: 64, saying: "submit noop -", in: installation)
                for command in ["submit", "put", "list"] {
                    let help = try await installation.sluice(command, "--help").output
                    #expect(help.contains("EXAMPLES"))
                    let empty = help.split(separator: "\n").filter { $0.hasSuffix(" -") || $0.hasSuffix(" - ") }
                    #expect(empty.isEmpty, "\(empty)")
                }
            }
        }

        @Test func `an unknown type, key or value of a payload is named, with 65`() async throws {
            try await Installation.with { installation in
                let wrong: [(String, String, String)] = [
                    ("frobnicate", "{}", "frobnicate"), ("noop", #"{"millis":1}"#, "millis"),
                    ("noop", #"{"milliseconds":"1"}"#, "milliseconds"), ("noop", "[]", "array"), ("noop", "{", "JSON"),
                    ("noop", #"{"milliseconds":-1}"#, "milliseconds"), ("upload", "{}", "file"),
                    ("upload", #"{"file":"/etc/hostname","to":"http://h/","colour":"red"}"#, "colour"),
                ]
                for (type, payload, word) in wrong {
                    let finished = try await installation.sluice("submit", type, "--payload", payload)
                    try expect(finished, code: 65, saying: word, in: installation)
                }
                // The known types are named, and the way round it works.
                let unknown = try await installation.sluice("submit", "frobnicate")
                #expect(unknown.errors.contains("noop") && unknown.errors.contains("upload"), "\(unknown.errors)")
                #expect(try await installation.sluice("submit", "frobnicate", "--allow-unknown").code == 0)
            }
        }

        @Test func `bulk stops at a bad line, names it, and keeps what stood before it`() async throws {
            try await Installation.with { installation in
                let lines = [
                    #"{"payload":{}}"#, #"{"payload":{"milliseconds":1},"qos":"background"}"#, "", #"{"payload":{}"#,
                    #"{"payload":{}}"#,
                ]
                let finished = try await installation.sluice(
                    "submit", "noop", "--payload", "-", input: lines.joined(separator: "\n"))
                #expect(finished.code == 65)
                #expect(finished.errors.contains("line 4"), "\(finished.errors)")
                #expect(finished.errors.split(separator: "\n").count == 1)
                #expect(finished.ids.count == 2)
                let store = try installation.store()
                for id in finished.ids { #expect(try store.command(id)?.status == .new) }
                #expect(try store.counts()[.new] == 2)
            }
        }

        @Test(
            .enabled(if: runsSlowTests, "slow"),
            arguments: [
                ("[1]", "array"), ("7", "number"), (#"{"payload":{},"qos":"high"}"#, "high"),
                (#"{"paylod":{}}"#, "paylod"),
                ("{}", "payload"), (#"{"payload":{},"payload":{}}"#, "payload"), ("\u{1}", "JSON"),
                (#"{"payload":{},"deadline":"soon"}"#, "soon"), (#"{"payload":{},"retryLimit":1.5}"#, "retryLimit"),
            ])
        func `bulk names what is wrong with a line`(line: String, word: String) async throws {
            try await Installation.with { installation in
                let finished = try await installation.sluice("submit", "noop", "--payload", "-", input: line + "\n")
                try expect(finished, code: 65, saying: "line 1", word, in: installation)
            }
        }

        @Test(.enabled(if: runsSlowTests, "slow"))
        func `a payload of 1 GB is refused with 65, from a file and in bulk, without being held in memory`()
            async throws
        {
            try await Installation.with { installation in
                let big = try installation.place.file("big", Array("{\"payload\":\"".utf8))
                truncate(big, 1 << 30)
                // Address space instead of a look at the peak: what needs a gigabyte dies.
                func submit(_ payload: String) async throws -> Installation.Finished {
                    let sluice = "'\(Installation.bin)/sluice' submit noop --payload"
                    return try await installation.run(
                        program: "/bin/bash", ["-c", "ulimit -v 1000000; exec \(sluice) \(payload)"])
                }
                try expect(await submit("'@\(big)'"), code: 65, saying: "\(1 << 20)", in: installation)
                try expect(await submit("- < '\(big)'"), code: 65, saying: "line 1", in: installation)
            }
        }

        @Test func `a file that has changed since it was put is given up, and says so`() async throws {
            try await Installation.with { installation in
                let here = installation.place.path
                let source = try installation.place.file("source", Array("before".utf8))
                let put = try installation.start("put", source, "--to", "file://\(here)/copy", "--wait")
                let id = try await awaited("its id") {
                    put.output.split(separator: "\n").first.flatMap { CommandID($0) }
                }
                _ = try installation.place.file("source", Array("after, and longer".utf8))
                _ = try await installation.up()
                let command = try await installation.await(
                    id, .tooManyTimes, .success, .error, in: installation.store())
                #expect(command.status == .tooManyTimes)
                #expect(command.reason?.contains("changed") == true, "\(command.reason ?? "")")
                #expect(contents(of: "\(here)/copy") == nil)
                #expect(try await put.end(within: .seconds(20)) == .exited(1))
                #expect(put.errors.contains("changed"), "\(put.errors)")
            }
        }

        @Test func `a data directory that cannot be made or belongs to somebody else is refused by name`() async throws
        {
            try await Installation.with { installation in
                let cannot = try await installation.asNobody(
                    "submit", "noop", environment: ["SLUICE_DATA": "/usr/share/sluice-data"])
                #expect(cannot.code == 73, "\(cannot.ending): \(cannot.errors)")
                #expect(cannot.errors.contains("/usr/share/sluice-data"))
                let file = try installation.place.file("file", [])
                let inside = try await installation.sluice(
                    "submit", "noop", environment: ["SLUICE_DATA": "\(file)/data"])
                #expect(inside.code == 73, "\(inside.ending): \(inside.errors)")

                #expect(try await installation.sluice("submit", "noop").code == 0)
                chmod(installation.data, 0o755)
                let open = try await installation.sluice("status")
                #expect(open.code == 77, "\(open.errors)")
                #expect(open.errors.contains(installation.data))
                chmod(installation.data, 0o700)
                if geteuid() == 0 {
                    #expect(chown(installation.data, 65_534, 65_534) == 0)
                    let foreign = try await installation.sluice("status")
                    #expect(foreign.code == 77 && foreign.errors.contains("belongs to user 65534"), "\(foreign)")
                    #expect(chown(installation.data, 0, 0) == 0)
                }
                #expect(try await installation.sluice("status").code == 0)
            }
        }

        @Test func `a full data directory is 74, and what was acknowledged before stays`() async throws {
            try await Installation.with { installation in
                guard let mounting = try await installation.mounting() else {
                    if requiresPeers {
                        Issue.record("Neither root nor the root of a user namespace may mount a file system here.")
                    }
                    return
                }
                try FileManager.default.createDirectory(
                    atPath: installation.data, withIntermediateDirectories: false,
                    attributes: [.posixPermissions: 0o700])
                // One shell in a mount namespace of its own: submits until the file system is full, then looks.
                let script = """
                    mount -t tmpfs -o size=6m,mode=0700 tmpfs "$SLUICE_DATA" || exit 99
                    payload=$(head -c 700000 /dev/zero | tr '\\0' x)
                    for try in $(seq 40); do
                        "$1" submit text --allow-unknown --payload "@$2" >> "$3" 2> "$4"
                        code=$?
                        [ $code = 0 ] || break
                    done
                    echo "code $code"
                    "$1" list --limit 0 --json
                    """
                let payload = try installation.place.file(
                    "payload", Array("\"".utf8) + [UInt8](repeating: 0x78, count: 700_000) + Array("\"".utf8))
                let ids = "\(installation.place.path)/ids"
                let errors = "\(installation.place.path)/errors"
                let unshared = try await installation.run(
                    program: "/usr/bin/unshare",
                    [mounting, "/bin/bash", "-c", script, "-", "\(Installation.bin)/sluice", payload, ids, errors])
                #expect(unshared.lines.first == "code 74", "\(unshared.output) \(unshared.errors)")
                let said = String(decoding: contents(of: errors) ?? [], as: UTF8.self)
                #expect(said.split(separator: "\n").count == 1, "\(said)")
                let acknowledged = String(decoding: contents(of: ids) ?? [], as: UTF8.self).split(separator: "\n")
                #expect(!acknowledged.isEmpty)
                for id in acknowledged { #expect(unshared.output.contains(id)) }
            }
        }

        @Test func `a database of somebody else or of a newer version is 65 and stays as it is`() async throws {
            try await Installation.with { installation in
                #expect(try await installation.sluice("submit", "noop").code == 0)
                let shard = "\(installation.data)/shard-00.sqlite"
                let store = try installation.store()
                for number in 0..<store.shardCount { _ = try store.checkpoint(shard: number) }
                _ = consume store

                try SQLiteProbe(shard).run("PRAGMA user_version=9999; PRAGMA wal_checkpoint(TRUNCATE);")
                let before = contents(of: shard)
                let refused = try await installation.sluice("status")
                #expect(refused.code == 65, "\(refused.errors)")
                #expect(refused.errors.contains("shard-00.sqlite"))
                #expect(contents(of: shard) == before)

                for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: shard + suffix) }
                try SQLiteProbe(creating: shard).run(
                    "CREATE TABLE recipe(name); PRAGMA journal_mode=WAL;")
                chmod(shard, 0o600)
                let foreign = try await installation.sluice("status")
                #expect(foreign.code == 65, "\(foreign.errors)")
                #expect(foreign.errors.contains("shard-00.sqlite"))

                for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: shard + suffix) }
                let missing = try await installation.sluice("submit", "noop")
                #expect(missing.code != 0)
                #expect(missing.errors.contains("shard-00.sqlite"), "\(missing.errors)")
                #expect(!FileManager.default.fileExists(atPath: shard), "a missing shard must never be made anew")
            }
        }

        @Test func `a second coordinator says who is there and ends with 75`() async throws {
            try await Installation.with { installation in
                let first = try await installation.coordinator()
                for arguments in [["coordinator"], ["up"]] {
                    let second = try await installation.run(program: "\(Installation.bin)/sluice", arguments)
                    #expect(second.code == 75, "\(second.errors)")
                    #expect(second.errors.contains("\(first.pid)"), "\(second.errors)")
                }
                #expect(first.ending == nil)
            }
        }

        @Test func `a data directory with a path of 200 bytes works`() async throws {
            let name = (0..<4).map { _ in String(repeating: "d", count: 50) }.joined(separator: "/")
            try await Installation.with(data: name) { installation in
                try FileManager.default.createDirectory(
                    atPath: URL(fileURLWithPath: installation.data).deletingLastPathComponent().path,
                    withIntermediateDirectories: true)
                _ = try await installation.up()
                let watch = try installation.start("watch", "--json")
                try await until("the first event") { !watch.output.isEmpty }
                let done = try await installation.sluice("submit", "noop", "--wait")
                #expect(done.code == 0, "\(done.errors)")
                let id = try #require(done.ids.first)
                try await until("the event of the success") {
                    watch.output.split(separator: "\n").contains { $0.contains("\(id)") && $0.contains("\"success\"") }
                }
                let endpoint = try await installation.status()?["coordinator"]?["events"]?.string
                let path = try #require(endpoint).dropFirst("ipc://".count)
                #expect(path.utf8.count <= 107)
            }
        }
    }
}

extension Installation {
    /// What unshare(1) must be told so that what it runs may mount a file system: as root, or as the root of a user
    /// namespace. - Returns: nil where both are denied, as they are in some containers.
    func mounting() async throws -> String? {
        let there = try place.directory("mounting")
        for option in ["-m", "-Urm"] {
            let tried = try await run(
                program: "/usr/bin/unshare", [option, "/bin/mount", "-t", "tmpfs", "tmpfs", there])
            if tried.code == 0 { return option }
        }
        return nil
    }

    /// Runs `sluice` as the user nobody, who may read nothing of ours: root reads everything.
    func asNobody(
        _ arguments: String..., environment: [String: String?] = [:]
    ) async throws -> Finished {
        guard getuid() == 0 else {
            return try await run(program: "\(Self.bin)/sluice", arguments, environment: environment)
        }
        let home = try place.directory("nobody")
        let binary = "\(home)/sluice"
        if !FileManager.default.fileExists(atPath: binary) {
            try FileManager.default.copyItem(atPath: "\(Self.bin)/sluice", toPath: binary)
        }
        chmod(place.path, 0o755)
        chmod(home, 0o755)
        let data = try place.directory("nobody/data")
        chown(data, 65_534, 65_534)
        chmod(data, 0o700)
        return try await run(
            program: "/usr/bin/setpriv",
            ["--reuid=65534", "--regid=65534", "--clear-groups", binary] + arguments,
            environment: ["SLUICE_DATA": data].merging(environment) { $1 })
    }
}
