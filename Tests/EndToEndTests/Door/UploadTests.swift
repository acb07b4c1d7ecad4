import Commands
import Foundation
import Glibc
import Host
import Store
import TestSupport
import Testing

extension EndToEndTests {
    /// Uploads through a real door, by foreign clients.
    @Suite struct UploadTests {
        private static func file(_ size: Int, in installation: Installation) throws -> (path: String, bytes: [UInt8]) {
            var random = SeededRandom.announced("UploadTests")
            let bytes = random.bytes(size)
            return (try installation.directory.file("source.bin", bytes), bytes)
        }

        @Test(
            .enabled(if: isAvailable(PythonScript.has("tusclient")), "needs the peers of deploy/prepare test"),
            arguments: ["tuspy", "aiotus", "resumable-upload", "parallel"])
        func `a foreign client of tus uploads a file while the door is killed again and again`(
            _ client: String
        ) async throws {
            try await Installation.with { installation in
                let door = try await DoorRig(installation)
                let (path, bytes) = try Self.file(12_000_000, in: installation)
                let python = try #require(PythonScript.interpreter(with: "tusclient"))
                let upload = try installation.start(
                    program: python,
                    [PythonScript.path("upload-client.py"), client, door.endpoint, try door.token, path])
                var random = SeededRandom.announced("UploadTests of \(client)")
                try await door.receiveFirstBytes(or: upload)
                var kills = 0
                while upload.ending == nil, kills < 12 {
                    try await door.kill()
                    kills += 1
                    try await door.start()
                    let wait = Duration.milliseconds(random.number(in: 60..<500))
                    if (try? await upload.end(within: wait)) != nil { break }
                }
                let finished = try await installation.finished(upload, within: .seconds(90))
                #expect(finished.code == 0, "\(finished.errors)")
                let url = try #require(finished.lines.last)
                #expect(door.bytes(url) == bytes, "after \(kills) kills")
                #expect(try await door.upload(url)["state"]?.string == "complete")
                #expect(kills > 0)
            }
        }

        @Test func `a body of PUT, of POST and of a form is an upload`() async throws {
            try await Installation.with { installation in
                let door = try await DoorRig(installation)
                let (path, bytes) = try Self.file(2_500_000, in: installation)
                for arguments in [
                    ["-T", path], ["--data-binary", "@\(path)"], ["-F", "note=x", "-F", "file=@\(path)"],
                ] {
                    let response = try await installation.run(
                        program: "/usr/bin/curl",
                        ["-sS", "-i", "-H", "Authorization: Bearer \(try door.token)"] + arguments
                            + ["\(door.endpoint)?name=%C3%A4.bin"])
                    #expect(response.output.contains("201 Created"), "\(response.output)")
                    let line = response.output.split(whereSeparator: \.isNewline).first { $0.hasPrefix("Location: ") }
                    let url = String(try #require(line).dropFirst("Location: ".count))
                    #expect(door.bytes(url) == bytes)
                }
            }
        }

        @Test func `a small upload whose file a crash has lost is sent from the store, and deleted after that`()
            async throws
        {
            try await Installation.with { installation in
                let receiver = try await installation.receiver()
                let (path, bytes) = try Self.file(40_000, in: installation)
                try FileManager.default.createDirectory(
                    atPath: installation.data, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700]
                )
                try
                    #"routes: {in: {command: {type: upload, payload: {to: "\#(receiver.origin)/{name}", method: PUT}}}}"#
                    .write(toFile: "\(installation.data)/sluice.yaml", atomically: true, encoding: .utf8)
                let door = try await DoorRig(installation)
                let made = try await door.curl("-i", "-T", path, "\(door.endpoint)?name=a.bin&route=in")
                let line = made.output.split(whereSeparator: \.isNewline).first { $0.hasPrefix("Location: ") }
                let location = try #require(line, "\(made.output)")
                let id = try #require(CommandID(String(location.suffix(36))))
                let file = "\(DataDirectory(path: installation.data).uploads)/\(id)"
                // As a crash of the machine does to a file that was not synced.
                #expect(unlink(file) == 0)
                _ = try await installation.coordinator()
                _ = try await installation.worker()
                let store = try installation.store()
                try await until("the end of the command") { try store.command(id)?.status.isFinal == true }
                let command = try #require(try store.command(id))
                #expect(command.status == .success && command.claim == 1, "\(command.reason ?? "")")
                #expect(receiver.requests.filter { $0.target == "/a.bin" }.map(\.sha256) == [sha256(bytes)])
                try await until("the deletion of the file") { !FileManager.default.fileExists(atPath: file) }
            }
        }

        @Test func `a resumable upload that gets more bytes than it has takes no more requests`() async throws {
            try await Installation.with { installation in
                let door = try await DoorRig(installation)
                let version = ["-H", "Upload-Draft-Interop-Version: 8"]
                let made = try await door.curl(
                    ["-i", "-X", "POST", "-H", "Upload-Complete: ?0", "-H", "Upload-Length: 5"] + version
                        + [door.endpoint])
                let line = made.output.split(whereSeparator: \.isNewline).first { $0.hasPrefix("Location: ") }
                let location = try #require(line, "\(made.output)")
                let url = String(location.dropFirst("Location: ".count))
                #expect(made.output.contains("Upload-Offset: 0"))
                let more = try await door.curl(
                    [
                        "-i", "-X", "PATCH", "-H", "Upload-Complete: ?1", "-H", "Upload-Offset: 0", "-H",
                        "Content-Type: application/partial-upload", "-H", "Transfer-Encoding: chunked", "-d",
                        "nine byte",
                    ] + version + [url])
                #expect(more.output.contains("HTTP/1.1 400") && more.output.contains("Upload-Complete: ?0"))
                #expect(more.output.contains("inconsistent-upload-length"), "\(more.output)")
                let head = try await door.curl(["--head"] + version + [url])
                #expect(head.output.contains("HTTP/1.1 410"), "\(head.output)")
            }
        }

        @Test(.enabled(if: isAvailable(program("strace") != nil), "needs strace"))
        func `bytes whose sync has failed are not stated, and are sent again`() async throws {
            try await Installation.with { installation in
                let door = try await DoorRig(installation)
                let (path, bytes) = try Self.file(300_000, in: installation)
                let made = try await door.curl(
                    "-D", "-", "-X", "POST", "-H", "Tus-Resumable: 1.0.0", "-H", "Upload-Length: 300000", door.endpoint)
                let line = made.output.split(whereSeparator: \.isNewline).first { $0.hasPrefix("Location: ") }
                let url = String(try #require(line, "\(made.output)").dropFirst("Location: ".count))
                let spool = try #require(realpath(DataDirectory(path: installation.data).uploads, nil))
                defer { free(spool) }
                let file = "\(String(cString: spool))/\(url.suffix(36))"
                let trace = "\(installation.directory.path)/trace"
                let strace = try installation.start(
                    program: #require(program("strace")),
                    [
                        "-f", "-o", trace, "-P", file, "-e", "inject=fdatasync:error=EIO:when=1", "-p",
                        "\(try door.pid)",
                    ])
                try await until("strace") { strace.ending != nil || strace.errors.contains("attached") }
                guard strace.ending == nil else {
                    // A container may not permit ptrace.
                    if requiresPeers { Issue.record("strace may trace nothing here: \(strace.errors)") }
                    return
                }
                func patch() async throws -> String {
                    try await door.curl(
                        "-i", "-X", "PATCH", "-H", "Tus-Resumable: 1.0.0", "-H", "Upload-Offset: 0", "-H",
                        "Content-Type: application/offset+octet-stream", "--data-binary", "@\(path)", url
                    ).output
                }
                let failed = try await patch()
                #expect(failed.contains("HTTP/1.1 500"), "\(failed)")
                #expect(failed.contains("Input/output error") == false, "the log has the reason, not the response")
                let head = try await door.curl("--head", "-H", "Tus-Resumable: 1.0.0", url).output
                #expect(head.contains("Upload-Offset: 0"), "\(head)")
                strace.signal(SIGTERM)
                _ = try await strace.end(within: .seconds(10))
                let again = try await patch()
                #expect(again.contains("HTTP/1.1 204") && again.contains("Upload-Offset: 300000"), "\(again)")
                #expect(door.bytes(url) == bytes)
            }
        }

        @Test(
            .enabled(if: isAvailable(program("strace") != nil), "needs strace"),
            // After the write of the file, and in the commit, which a server syncs.
            arguments: ServerStore.isAsked ? ["utimensat"] : ["utimensat", "fdatasync"])
        func `a door that dies while it stores a small upload with a key makes one command of it`(
            call: String
        ) async throws {
            try await Installation.with { installation in
                try FileManager.default.createDirectory(
                    atPath: installation.data, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700]
                )
                try "routes: {in: {command: {type: noop, payload: {}}}}".write(
                    toFile: "\(installation.data)/sluice.yaml", atomically: true, encoding: .utf8)
                let door = try await DoorRig(installation)
                let (path, bytes) = try Self.file(40_000, in: installation)
                let strace = try installation.start(
                    program: #require(program("strace")),
                    ["-f", "-e", "inject=\(call):signal=SIGKILL:when=1", "-p", "\(try door.pid)"])
                try await until("strace") { strace.ending != nil || strace.errors.contains("attached") }
                guard strace.ending == nil else {
                    // A container may not permit ptrace.
                    if requiresPeers { Issue.record("strace may trace nothing here: \(strace.errors)") }
                    return
                }
                let put = ["-i", "-T", path, "-H", "Idempotency-Key: \"k\"", "\(door.endpoint)?route=in"]
                #expect(try await door.curl(put).code != 0)
                #expect(try await door.ended() == .signalled(SIGKILL))
                try await door.start()
                var locations: Set<String> = []
                for _ in 0..<2 {
                    let made = try await door.curl(put).output
                    let line = made.split(whereSeparator: \.isNewline).first { $0.hasPrefix("Location: ") }
                    locations.insert(String(try #require(line, "\(made)").dropFirst("Location: ".count)))
                }
                #expect(locations.count == 1)
                #expect(door.bytes(try #require(locations.first)) == bytes)
                let counts = try installation.store().counts()
                #expect(CommandStatus.allCases.reduce(0) { $0 + counts[$1] } == 1)
                // Nothing else is in the spool.
                #expect(try door.spooledFiles().count == 1)
            }
        }

        @Test func `a request without a usable token is refused, and nothing is stored`() async throws {
            try await Installation.with { installation in
                let door = try await DoorRig(installation)
                for token in ["", "slu_wrong", "Bearer"] {
                    let response = try await installation.run(
                        program: "/usr/bin/curl",
                        ["-sS", "-i", "-H", "Authorization: Bearer \(token)", "-d", "x", door.endpoint])
                    #expect(response.output.contains("401 Unauthorized"))
                    #expect(response.output.contains("WWW-Authenticate: Bearer"))
                }
                #expect(try door.spooledFiles().isEmpty)
            }
        }

        @Test func `an address that cannot be used is an error with its remedy`() async throws {
            try await Installation.with { installation in
                let door = try await DoorRig(installation)
                for (data, address, code, words) in [
                    ("other", "127.0.0.1:\(door.port)", Int32(75), "another program listens there"),
                    ("other", "192.0.2.1:8080", 65, "does not have the address"),
                    ("other", "no-such-host.invalid:8080", 65, "the name of the host is not known"),
                    ("other", "7411", 64, "--listen"),
                ] {
                    // Its store is in its files: that of a server belongs to the first directory.
                    let finished = try await installation.sluice(
                        "door", "--data", "\(installation.directory.path)/\(data)", "--listen", address,
                        environment: ["SLUICE_STORE": nil])
                    #expect(finished.code == code && finished.errors.contains(words), "\(finished.errors)")
                }
            }
        }

        @Test func `a data directory has one door`() async throws {
            try await Installation.with { installation in
                let door = try await DoorRig(installation)
                let second = try await installation.sluice("door", "--listen", "127.0.0.1:0")
                #expect(second.code == 75 && second.errors.contains("another door"), "\(second.errors)")
                #expect(try await door.stop() == .exited(0))
                // Its lock ends with it.
                try await door.start()
            }
        }

        @Test func `a door that is stopped keeps the bytes of the requests that it ends`() async throws {
            try await Installation.with { installation in
                let door = try await DoorRig(installation)
                let (path, bytes) = try Self.file(8_000_000, in: installation)
                let made = try await door.curl(
                    "-D", "-", "-X", "POST", "-H", "Tus-Resumable: 1.0.0", "-H", "Upload-Length: 8000000", door.endpoint
                )
                let line = made.output.split(whereSeparator: \.isNewline).first { $0.hasPrefix("Location: ") }
                let url = String(try #require(line).dropFirst("Location: ".count))
                // Two megabytes a second: half of it is there when the door is stopped.
                let slow = try installation.start(
                    program: "/usr/bin/curl",
                    [
                        "-sS", "-H", "Authorization: Bearer \(try door.token)", "-H", "Tus-Resumable: 1.0.0", "-H",
                        "Upload-Offset: 0", "-H", "Content-Type: application/offset+octet-stream", "--limit-rate",
                        "300k",
                        "--data-binary", "@\(path)", "-X", "PATCH", url,
                    ])
                try await until("some bytes") { try await door.upload(url)["offset"]?.integer ?? 0 > 200_000 }
                #expect(try await door.stop() == .exited(0))
                _ = try await slow.end(within: .seconds(20))
                try await door.start()
                let offset = try #require(try await door.upload(url)["offset"]?.integer)
                #expect(offset > 200_000 && offset < 8_000_000)
                #expect(door.bytes(url).map { $0 == Array(bytes.prefix(Int(offset))) } == true)
            }
        }
    }
}
