import Commands
import Foundation
import Synchronization
import TestSupport
import Testing

extension EndToEndTests {
    /// A door that asks a site before it creates an upload.
    struct UploadHookTests {
        private final class Site: RequestHandler {
            private let questions = Mutex<[JSONValue]>([])

            var asked: [JSONValue] { questions.withLock { $0 } }

            func respond(to request: HandledRequest) -> Behaviour {
                guard request["x-hook-key"] == "sesame", let question = try? JSONValue(parsing: request.body) else {
                    return .answer(401)
                }
                questions.withLock { $0.append(question) }
                return switch question["name"]?.string {
                case "refused": .answer(403, body: #"{"detail": "No credit is left."}"#)
                case "broken": .answer(500)
                case "renamed": .answer(200, body: #"{"name": "chosen", "uniqueKey": "order-7"}"#)
                default: .answer(204)
                }
            }
        }

        private static func with(
            _ body: (Installation, DoorRig, Site) async throws -> Void
        ) async throws {
            try await Installation.with { installation in
                let server = try await installation.receiver()
                let site = Site()
                server.handle(by: site)
                let secret = try installation.directory.file("hook.key", Array("sesame\n".utf8))
                chmod(secret, 0o600)
                try FileManager.default.createDirectory(
                    atPath: installation.data, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700]
                )
                try Data(
                    """
                    door: {uploadHook: "\(server.origin)/uploads/new"}
                    credentials: [site]
                    credential:
                      site: {origin: "\(server.origin)", headerName: X-Hook-Key, headerValueFile: \(secret)}
                    routes: {archive: {command: {type: noop, payload: {}}}}
                    """.utf8
                ).write(to: URL(fileURLWithPath: "\(installation.data)/sluice.yaml"))
                try await body(installation, try await DoorRig(installation), site)
            }
        }

        @Test func `each protocol asks the site once for an upload, before it is created`() async throws {
            try await Self.with { installation, door, site in
                let small = try installation.directory.file("small", Array("abc".utf8))
                let large = try installation.directory.file("large", [UInt8](repeating: 7, count: 300_000))
                var expected: [String] = []
                func send(_ name: String, _ arguments: String...) async throws -> String {
                    expected.append(name)
                    let sent = try await door.curl(["-i"] + arguments)
                    #expect(sent.output.contains(" 201 "), "\(name): \(sent.output)")
                    return sent.output.split(separator: "\r\n").first { $0.lowercased().hasPrefix("location: ") }.map {
                        String($0.dropFirst("location: ".count))
                    } ?? ""
                }
                let endpoint = door.endpoint
                _ = try await send("put", "-T", small, "\(endpoint)?name=put&route=archive")
                _ = try await send("large", "-T", large, "\(endpoint)?name=large")
                _ = try await send(
                    "post", "--data-binary", "@\(small)", "-H", "Content-Type: video/mp4", "\(endpoint)?name=post")
                expected.append("one")
                _ = try await send("two", "-F", "a=@\(small);filename=one", "-F", "b=@\(large);filename=two", endpoint)
                let tus = "Tus-Resumable: 1.0.0"
                func metadata(_ name: String) -> String {
                    "Upload-Metadata: filename \(Data(name.utf8).base64EncodedString())"
                }
                let location = try await send(
                    "tus", "-X", "POST", "-H", tus, "-H", "Upload-Length: 3", "-H", metadata("tus"), endpoint)
                let patched = try await door.curl(
                    "-i", "-X", "PATCH", "-H", tus, "-H", "Upload-Offset: 0", "-H",
                    "Content-Type: application/offset+octet-stream", "--data-binary", "@\(small)", location)
                #expect(patched.output.contains(" 204 "), "\(patched.output)")
                _ = try await send(
                    "with", "-X", "POST", "-H", tus, "-H", "Upload-Length: 3", "-H", metadata("with"), "-H",
                    "Content-Type: application/offset+octet-stream", "--data-binary", "@\(small)", endpoint)
                let part = try await send(
                    "part", "-X", "POST", "-H", tus, "-H", "Upload-Concat: partial", "-H", "Upload-Length: 3", "-H",
                    metadata("part"), "-H", "Content-Type: application/offset+octet-stream", "--data-binary",
                    "@\(small)", endpoint)
                _ = try await send(
                    "final", "-X", "POST", "-H", tus, "-H", "Upload-Concat: final;\(part)", "-H", metadata("final"),
                    endpoint)
                _ = try await send(
                    "draft", "-X", "POST", "-H", "Upload-Complete: ?0", "--data-binary", "@\(small)",
                    "\(endpoint)?name=draft")
                #expect(site.asked.map { $0["name"]?.string ?? "" } == expected)
                let put = try #require(site.asked.first)
                #expect(
                    put["route"] == "archive" && put["length"] == 3 && put["token"] == "local" && put["part"] == false)
                #expect(site.asked.filter { $0["part"] == true }.map { $0["name"] } == ["part"])
                // Each upload that has ended has one line in the log.
                let lines = door.errors.split(separator: "\n").compactMap { try? JSONValue(parsing: Array($0.utf8)) }
                    .filter { $0["message"] == "An upload has ended" }
                #expect(lines.count == expected.count - 1, "all but the one of the draft, which is open")
                #expect(
                    lines.allSatisfy { $0["token"] == "local" && $0["ending"] == "complete" && $0["seconds"] != nil })
                #expect(!door.errors.contains("sesame"))
            }
        }

        @Test func `the site refuses an upload in its words, names another, and is missed for a moment only`()
            async throws
        {
            try await Self.with { installation, door, site in
                let file = try installation.directory.file("file", Array("abc".utf8))
                let refused = try await door.curl("-i", "-T", file, "\(door.endpoint)?name=refused")
                #expect(refused.output.contains(" 403 ") && refused.output.contains("/problems/upload-refused"))
                #expect(refused.output.contains(#""detail":"No credit is left.""#), "\(refused.output)")
                let broken = try await door.curl("-i", "-T", file, "\(door.endpoint)?name=broken")
                #expect(broken.output.contains(" 503 ") && broken.output.lowercased().contains("retry-after: "))
                #expect(door.errors.contains("The upload hook http"), "\(door.errors)")
                let named = try await door.curl("-i", "-T", file, "\(door.endpoint)?name=renamed&route=archive")
                let body = named.output.components(separatedBy: "\r\n\r\n").last ?? ""
                let id = try #require(try JSONValue(parsing: Array(body.utf8))["id"]?.string, "\(named.output)")
                let upload = try await door.curl("\(door.origin)/api/v1/uploads/\(id)").json()
                #expect(upload["fileName"] == "chosen", "\(upload)")
                let command = try await installation.sluice("status", id, "--json").json()
                #expect(command["uniqueKey"] == "order-7", "\(command)")
                // The key is held: the next creation learns so before its bytes are sent.
                let taken = try await door.curl(
                    "-i", "-X", "POST", "-H", "Upload-Complete: ?0", "\(door.endpoint)?name=renamed&route=archive")
                #expect(taken.output.contains(" 409 ") && taken.output.contains(id), "\(taken.output)")
            }
        }

        @Test func `config check names the hook, and a secret that cannot be read`() async throws {
            try await Self.with { installation, _, _ in
                let checked = try await installation.sluice("config", "check")
                #expect(
                    checked.code == 0 && checked.output.contains("/uploads/new before each upload, with X-Hook-Key"))
                chmod("\(installation.directory.path)/hook.key", 0o644)
                let open = try await installation.sluice("config", "check")
                #expect(open.code == 78 && open.output.contains("chmod 600"), "\(open.output)")
                let file = try installation.directory.file("wrong.yaml", Array("door: {uploadHook: \"ftp://a/\"}".utf8))
                let wrong = try await installation.sluice("config", "check", "--config", file)
                #expect(wrong.code == 78 && wrong.output.contains("door.uploadHook"), "\(wrong.output)")
            }
        }
    }
}
