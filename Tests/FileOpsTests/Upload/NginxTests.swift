import Commands
import TestSupport
import Testing

/// Uploads to nginx.
@Suite(.enabled(if: isAvailable(NginxServer.isInstalled), "nginx is not installed; deploy/test installs it"))
struct NginxTests {
    @Test func `files are stored in a WebDAV directory`() async throws {
        let harness = try UploadHarness()
        defer { harness.directory.remove() }
        let nginx = try await NginxServer(in: harness.directory.path)
        try await stopping(nginx) {
            let bytes = sample(5_000_000)
            let names = ["plain", "a b#?%ü.txt", "日本"]
            for name in names {
                let file = try harness.directory.file(name, bytes)
                let result = try await harness.upload(file: file, to: "\(nginx.origin)/dav/new/")
                #expect(result["status"]?.integer == 201)
                #expect(contents(of: "\(nginx.root)/new/\(name)") == bytes)
            }
            let again = try await harness.upload(
                file: "\(harness.directory.path)/plain", to: "\(nginx.origin)/dav/new/plain")
            #expect(again["status"]?.integer == 204)
            let refused = try await harness.failure(
                file: "\(harness.directory.path)/plain", to: "\(nginx.origin)/dav/new/plain",
                extra: [.init("method", "POST")])
            #expect(refused.fault == .final)
            #expect(refused.reason.contains("405"))
        }
    }

    @Test func `many small files are stored at once`() async throws {
        let harness = try UploadHarness()
        defer { harness.directory.remove() }
        let nginx = try await NginxServer(in: harness.directory.path)
        try await stopping(nginx) {
            let file = try harness.directory.file("a", sample(65_536))
            try await withThrowingTaskGroup(of: Void.self) { group in
                for batch in 0..<16 {
                    group.addTask {
                        for number in 0..<20 {
                            _ = try await harness.upload(file: file, to: "\(nginx.origin)/dav/\(batch)-\(number)")
                        }
                    }
                }
                try await group.waitForAll()
            }
            for batch in 0..<16 { #expect(contents(of: "\(nginx.root)/\(batch)-19")?.count == 65_536) }
        }
    }
}
