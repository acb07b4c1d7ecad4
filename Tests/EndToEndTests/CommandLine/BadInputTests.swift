import Commands
import Foundation
import Store
import TestSupport
import Testing

extension EndToEndTests {
    /// Bad input causes a documented exit code, one line on standard error, and no change.
    struct BadInputTests {
        /// Expects one line with the problem on standard error, nothing on standard output, and no command in
        /// the store.
        func expect(
            _ finished: Installation.Finished, code: Int32, saying words: String..., in installation: Installation,
            commands: Int = 0, sourceLocation: SourceLocation = #_sourceLocation
        ) throws {
            #expect(finished.code == code, "\(finished.ending): \(finished.errors)", sourceLocation: sourceLocation)
            #expect(finished.output.isEmpty, sourceLocation: sourceLocation)
            let said = finished.errors.split(separator: "\n")
            // The argument parser adds the usage and a hint at --help.
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

        @Test func `a source that is missing or a directory is named, with exit code 66`() async throws {
            try await Installation.with { installation in
                let here = installation.directory.path
                let good = try installation.directory.file("good", [1, 2, 3])
                let missing = "\(here)/missing"
                try expect(
                    await installation.sluice("put", good, missing, "--to", "file://\(here)/to/"), code: 66,
                    saying: missing, in: installation)
                let directory = #"{"file":"\#(here)","to":"file://\#(here)/to/"}"#
                try expect(
                    await installation.sluice("submit", "upload", "--payload", directory), code: 66, saying: here,
                    in: installation)
                try expect(
                    await installation.sluice("put", "/dev/null", "--to", "file://\(here)/to/"), code: 66,
                    saying: "/dev/null", in: installation)
                try expect(
                    await installation.sluice("submit", "noop", "--payload", "@\(missing)"), code: 66, saying: missing,
                    in: installation)
            }
        }

        @Test(arguments: [
            (["limit", "set", "a", "--starts", "0/s"], "--starts", "100/min"),
            (["network", "set", "https://a", "--max-rate", "fast"], "--max-rate", "2Mbit"),
            (["list", "--destination", "nonsense"], "--destination", "https://host:8443"),
            (["explain", "12"], "<id>", "digits"), (["door", "--listen", "x"], "--listen", "127.0.0.1:8080"),
            (["submit", "noop", "--deadline", "soon"], "--deadline", "+10m"),
            (["submit", "noop", "--after", "1"], "--after", "UUID:end"),
            (["up", "--workers", "many"], "--workers", "a number"),
            (["list", "--status", "lost"], "--status", "inDoubt"),
        ])
        func `a value that cannot be read is named, with the form that is expected`(
            arguments: [String], option: String, form: String
        ) async throws {
            try await Installation.with { installation in
                let finished = try await installation.run(program: "\(Installation.bin)/sluice", arguments)
                try expect(finished, code: 64, saying: arguments.last ?? "", option, form, in: installation)
            }
        }

        @Test(.enabled(if: runsSlowTests, "slow"))
        func `too few descriptors are named, with exit code 75 and no partial result`() async throws {
            try await Installation.with { installation in
                #expect(try await installation.sluice("submit", "noop").code == 0)
                // The number of descriptors that it needs depends on the system and the libraries; find it,
                // and use one less.
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

        @Test func `an unreadable source is named, with exit code 66`() async throws {
            try await Installation.with { installation in
                let secret = try installation.directory.file("secret", [1, 2, 3])
                chmod(secret, 0o000)
                let finished = try await installation.asUnprivilegedUser("put", secret, "--to", "file:///tmp/")
                #expect(finished.code == 66, "\(finished.errors)")
                #expect(finished.errors.contains(secret))
                #expect(finished.output.isEmpty)
            }
        }

        @Test(arguments: [
            ("gopher://host/x", "gopher"), ("http://", "http://"), ("http://host:99999/", "99999"),
            ("not a url", "not a url"), ("", "--to"), ("http:///x", "http:///x"), ("http://[::1/", "http://[::1/"),
        ])
        func `an unknown scheme or a malformed URL is named, with exit code 64`(url: String, word: String) async throws
        {
            try await Installation.with { installation in
                let good = try installation.directory.file("good", [1, 2, 3])
                try expect(
                    await installation.sluice("put", good, "--to", url), code: 64, saying: word, in: installation)
            }
        }

        @Test func `an unknown subcommand, flag, quality of service or UUID is refused with exit code 64`() async throws
        {
            try await Installation.with { installation in
                #expect(try await installation.sluice("submit", "noop").code == 0)
                let wrong: [([String], String)] = [
                    (["frobnicate"], "frobnicate"), (["frobnicate", "--json"], "“frobnicate”"),
                    (["status", "--frobnicate"], "Unknown option '--frobnicate'\n"),
                    (["status", "--jsn"], "Unknown option '--jsn'. Did you mean '--json'?"),
                    // Where something else is wrong or missing too.
                    (["limit", "set", "a", "--start", "3/s"], "Unknown option '--start'. Did you mean '--starts'?"),
                    (["put", "a", "--too", "https://h/"], "Unknown option '--too'. Did you mean '--to'?"),
                    (["submit", "noop", "--frobnicate=1", "x"], "Unknown option '--frobnicate'\n"),
                    (["submit", "noop", "x", "--", "--frobnicate"], "'x'"),
                    (["submit", "noop", "--qos", "highest"], "highest"), (["cancel", "12x4"], "12x4"),
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

        @Test func `a missing command is refused with exit code 66`() async throws {
            try await Installation.with { installation in
                #expect(try await installation.sluice("submit", "noop").code == 0)
                let id = CommandID().description
                for verb in ["status", "cancel", "retry", "explain"] {
                    let finished = try await installation.sluice(verb, id)
                    try expect(finished, code: 66, saying: id, in: installation, commands: 1)
                }
            }
        }

        @Test func `a bulk submit without a type is refused with exit code 64, and help describes each value or none`()
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

        @Test func `an unknown type, key or value of a payload is named, with exit code 65`() async throws {
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
                // The error names the known types, and the option that it suggests works.
                let unknown = try await installation.sluice("submit", "frobnicate")
                #expect(unknown.errors.contains("noop") && unknown.errors.contains("upload"), "\(unknown.errors)")
                #expect(try await installation.sluice("submit", "frobnicate", "--allow-unknown").code == 0)
            }
        }

        @Test func `a bulk submit stops at a bad line, names it, and keeps the lines before it`() async throws {
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
        func `a bulk submit names the problem of a line`(line: String, word: String) async throws {
            try await Installation.with { installation in
                let finished = try await installation.sluice("submit", "noop", "--payload", "-", input: line + "\n")
                try expect(finished, code: 65, saying: "line 1", word, in: installation)
            }
        }

        @Test(.enabled(if: runsSlowTests, "slow"))
        func `a payload of 1 GB is refused with exit code 65 without being held in memory`()
            async throws
        {
            try await Installation.with { installation in
                let big = try installation.directory.file("big", Array("{\"payload\":\"".utf8))
                truncate(big, 1 << 30)
                // Limit the address space instead of measuring the peak: a process that needs a gigabyte
                // fails.
                func submit(_ payload: String) async throws -> Installation.Finished {
                    let sluice = "'\(Installation.bin)/sluice' submit noop --payload"
                    return try await installation.run(
                        program: "/bin/bash", ["-c", "ulimit -v 1000000; exec \(sluice) \(payload)"])
                }
                try expect(await submit("'@\(big)'"), code: 65, saying: "\(1 << 20)", in: installation)
                try expect(await submit("- < '\(big)'"), code: 65, saying: "line 1", in: installation)
            }
        }

        @Test func `an upload of a file that has changed since put fails, and names the change`() async throws {
            try await Installation.with { installation in
                let here = installation.directory.path
                let source = try installation.directory.file("source", Array("before".utf8))
                let put = try installation.start("put", source, "--to", "file://\(here)/copy", "--wait")
                let id = try await awaited("its id") {
                    put.output.split(separator: "\n").first.flatMap { CommandID($0) }
                }
                _ = try installation.directory.file("source", Array("after, and longer".utf8))
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

        @Test func `a data directory that cannot be made or belongs to another user is refused by name`() async throws {
            try await Installation.with { installation in
                let cannot = try await installation.asUnprivilegedUser(
                    "submit", "noop", environment: ["SLUICE_DATA": "/usr/share/sluice-data"])
                #expect(cannot.code == 73, "\(cannot.ending): \(cannot.errors)")
                #expect(cannot.errors.contains("/usr/share/sluice-data"))
                let file = try installation.directory.file("file", [])
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

        @Test func `the URL of a database as data directory is refused, and no directory is made of it`() async throws {
            try await Installation.with { installation in
                let sentence =
                    "sluice: a data directory is a path, not a URL; give the URL of a store by --store or SLUICE_STORE\n"
                for url in ["postgres://host/db", "postgresql://host/db"] {
                    let option = try await installation.sluice("submit", "noop", "--data", url)
                    let variable = try await installation.sluice("up", environment: ["SLUICE_DATA": url])
                    for refused in [option, variable] {
                        #expect(refused.code == 64 && refused.output.isEmpty, "\(refused.ending): \(refused.errors)")
                        #expect(refused.errors.hasPrefix(sentence), "\(refused.errors)")
                    }
                }
            }
        }

        @Test(.filesOnly("the commands are on the disk of the server"))
        func `a full data directory is exit code 74, and acknowledged commands stay`() async throws {
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
                // A shell in its own mount namespace submits commands until the file system is full, and
                // lists them.
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
                let payload = try installation.directory.file(
                    "payload", Array("\"".utf8) + [UInt8](repeating: 0x78, count: 700_000) + Array("\"".utf8))
                let ids = "\(installation.directory.path)/ids"
                let errors = "\(installation.directory.path)/errors"
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

        @Test(.filesOnly("a server keeps all shards in its own files"))
        func `a foreign database or one of a newer version is refused with exit code 65 and not changed`()
            async throws
        {
            try await Installation.with { installation in
                #expect(try await installation.sluice("submit", "noop").code == 0)
                let shard = "\(installation.data)/shard-00.sqlite"
                let store = try installation.files()
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

        @Test func `a second coordinator names the first and exits with 75`() async throws {
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
    /// Finds the option of unshare(1) with which a process may mount a file system: as root, or as root of a user namespace.
    /// - Returns: nil where both are denied, as in some containers.
    func mounting() async throws -> String? {
        let target = try directory.makeDirectory("mounting")
        for option in ["-m", "-Urm"] {
            let tried = try await run(
                program: "/usr/bin/unshare", [option, "/bin/mount", "-t", "tmpfs", "tmpfs", target])
            if tried.code == 0 { return option }
        }
        return nil
    }

    /// Runs `sluice` as the user 65534, which cannot read the files of the test. Root could read every file.
    func asUnprivilegedUser(
        _ arguments: String..., environment: [String: String?] = [:]
    ) async throws -> Finished {
        guard getuid() == 0 else {
            return try await run(program: "\(Self.bin)/sluice", arguments, environment: environment)
        }
        let home = try directory.makeDirectory("unprivileged")
        let binary = "\(home)/sluice"
        if !FileManager.default.fileExists(atPath: binary) {
            try FileManager.default.copyItem(atPath: "\(Self.bin)/sluice", toPath: binary)
        }
        chmod(directory.path, 0o755)
        chmod(home, 0o755)
        let data = try directory.makeDirectory("unprivileged/data")
        chown(data, 65_534, 65_534)
        chmod(data, 0o700)
        return try await run(
            program: "/usr/bin/setpriv",
            ["--reuid=65534", "--regid=65534", "--clear-groups", binary] + arguments,
            environment: ["SLUICE_DATA": data].merging(environment) { $1 })
    }
}
