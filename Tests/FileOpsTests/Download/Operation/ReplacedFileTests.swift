import Commands
import Foundation
import TestSupport
import Testing

@testable import FileOps

/// Files that exist where a download ends: names that the server chooses, permissions and owner.
@Suite struct ReplacedFileTests {
    /// - Parameter name: in Content-Disposition.
    private func with(
        _ name: String = "report.pdf", _ members: [JSONValue.Member] = [.init("name", "server")], to: String = "/",
        _ body: (TemporaryDirectory, DownloadHarness) async throws -> Void
    ) async throws {
        let server = try await ScriptedServer()
        try await stopping(server) {
            let headers = ["Content-Disposition": "attachment; filename=\"\(name)\"", "ETag": "\"1\""]
            server.handle(by: ListOrigin { _ in .answer(200, headers: headers, body: "theirs") })
            try await DownloadHarness.withDirectory { directory in
                let payload = JSONValue.object(
                    [.init("url", .string("\(server.origin)/dl?id=1")), .init("to", .string(directory.path + to))]
                        + members)
                try await body(directory, try DownloadHarness(payload, in: directory))
            }
        }
    }

    private func text(_ directory: TemporaryDirectory, _ name: String) -> String? {
        contents(of: "\(directory.path)/\(name)").map { String(decoding: $0, as: UTF8.self) }
    }

    @Test func `a name that the server chose replaces no file`() async throws {
        try await with { directory, harness in
            _ = try directory.file("report.pdf", Array("mine".utf8))
            let outcome = try await harness.execute()
            #expect(outcome.failure?.fault == .final, "\(outcome)")
            #expect(outcome.failure?.reason.contains("--rename") == true, "\(outcome)")
            let result = try JSONValue(parsing: outcome.failure?.result ?? [])
            #expect(result["nameTaken"]?.bool == true && result["path"]?.string?.hasSuffix("/report.pdf") == true)
            #expect(text(directory, "report.pdf") == "mine" && harness.parts.isEmpty)
        }
        try await with { directory, harness in
            let outcome = try await harness.execute()
            #expect(outcome.result != nil && text(directory, "report.pdf") == "theirs", "\(outcome)")
        }
    }

    @Test func `a name that the server chose follows no symbolic link`() async throws {
        try await with { directory, harness in
            #expect(symlink("\(directory.path)/elsewhere", "\(directory.path)/report.pdf") == 0)
            let outcome = try await harness.execute()
            #expect(outcome.failure?.fault == .final, "\(outcome)")
            #expect(text(directory, "elsewhere") == nil)
        }
    }

    @Test func `with rename a file gets a name of its own, also in a second execution`() async throws {
        try await with("report.pdf", [.init("name", "server"), .init("overwrite", "rename")]) { directory, harness in
            _ = try directory.file("report.pdf", Array("mine".utf8))
            _ = try directory.makeDirectory("report.1.pdf")
            // The second execution finds the file of the first, whose worker died before it could say so.
            for _ in 0..<2 {
                let outcome = try await harness.execute()
                #expect(outcome.result?["path"]?.string == "\(directory.path)/report.2.pdf", "\(outcome)")
            }
            #expect(text(directory, "report.pdf") == "mine" && text(directory, "report.2.pdf") == "theirs")
            #expect(text(directory, "report.3.pdf") == nil && harness.parts.isEmpty)
        }
    }

    @Test(arguments: [
        ("a.mp4", "a.1.mp4"), ("a", "a.1"), (".hidden", ".hidden.1"), ("a.tar.gz", "a.tar.1.gz"), ("ä.ü", "ä.1.ü"),
    ])
    func `a number stands before the extension`(_ name: String, _ numbered: String) {
        #expect(CopyTarget(path: "/x.y/\(name)").numbered(1).path == "/x.y/\(numbered)")
    }

    @Test func `a file that is replaced keeps its permissions, unless the payload gives others`() async throws {
        for (members, mode) in [([], 0o600), ([.init("mode", "0640")], 0o640)] as [([JSONValue.Member], mode_t)] {
            try await with("x", members, to: "/secret") { directory, harness in
                let path = try directory.file("secret", Array("mine".utf8))
                #expect(chmod(path, 0o600) == 0)
                let outcome = try await harness.execute()
                #expect(outcome.result != nil, "\(outcome)")
                var status = stat()
                #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == mode)
                #expect(text(directory, "secret") == "theirs")
            }
        }
    }

    @Test(.enabled(if: geteuid() == 0)) func `a file that is replaced keeps its owner`() async throws {
        try await with("x", [], to: "/secret") { directory, harness in
            let path = try directory.file("secret", Array("mine".utf8))
            #expect(chown(path, 1234, 2345) == 0)
            let outcome = try await harness.execute()
            #expect(outcome.result != nil, "\(outcome)")
            var status = stat()
            #expect(stat(path, &status) == 0 && status.st_uid == 1234 && status.st_gid == 2345)
        }
    }
}
