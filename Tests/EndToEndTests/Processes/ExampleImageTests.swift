import Commands
import Foundation
import TestSupport
import Testing

extension EndToEndTests {
    /// The example that shows the last response at once, and then the fresh one. It uses only the library.
    struct ExampleImageTests {
        @Test func `the stored image is shown before the server answers, and the fresh one after it`() async throws {
            let server = try await ScriptedServer()
            try await stopping(server) {
                try server.run(
                    """
                    GET /radar #1 : answer 200 header "Cache-Control: max-age=0" header "ETag: \\"1\\"" body "old"
                    GET /radar #2 : wait 300ms; answer 200 header "Cache-Control: max-age=0" body "new"
                    """)
                try await Installation.with { installation in
                    _ = try await installation.up(workers: 1)
                    let file = "\(installation.directory.path)/radar.png"
                    func show() async throws -> String {
                        let example = try installation.start(
                            program: "\(Installation.bin)/latest-image",
                            [installation.data, "\(server.origin)/radar", file])
                        #expect(try await example.end(within: .seconds(30)) == .exited(0))
                        return example.output
                    }
                    #expect(try await show() == "network: 3 bytes, 0 s old\n")
                    #expect(try String(contentsOfFile: file, encoding: .utf8) == "old")
                    let lines = try await show().split(separator: "\n")
                    #expect(lines.count == 2 && lines.first?.hasPrefix("stored: 3 bytes") == true, "\(lines)")
                    #expect(lines.last?.hasPrefix("network: 3 bytes") == true, "\(lines)")
                    #expect(try String(contentsOfFile: file, encoding: .utf8) == "new")
                    #expect(server.requests.count == 2)
                }
            }
        }
    }
}
