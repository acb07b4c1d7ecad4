import Commands
import TestSupport
import Testing

extension EndToEndTests {
    /// The program TestDestination, controlled over its socket.
    @Suite(.enabled(if: program("curl") != nil, "curl is not installed"))
    struct TestDestinationTests {
        @Test func `a script that is sent is followed, and a wrong one is refused with its line`() async throws {
            try await Installation.with { installation in
                let directory = installation.directory
                let identity = TestIdentity.selfSigned
                let certificate = try directory.file("a.pem", Array(identity.certificate.utf8))
                let key = try directory.file("a.key", Array(identity.key.utf8))
                let (port, socket) = (try freePort(), "\(directory.path)/control.sock")
                let tool = try installation.start(
                    program: "\(Installation.bin)/TestDestination",
                    ["127.0.0.1", "\(port)", socket, certificate, key])
                let control = try await ControlLine(path: socket) {
                    guard tool.ending == nil else { throw Missed("it ended: \(tool.errors)") }
                }
                func status(_ path: String) async throws -> String {
                    let curl = try #require(program("curl"))
                    return try await installation.run(
                        program: curl,
                        [
                            "-s", "-o", "/dev/null", "-w", "%{http_code}", "--cacert", certificate, "-T", key,
                            "https://localhost:\(port)\(path)",
                        ]
                    ).output
                }
                #expect(try await status("/a") == "201")
                try await control.ask(["script": "PUT /a #1 : read; answer 503\n* * : store"])
                let error = await #expect(throws: Missed.self) {
                    try await control.ask(["script": "* * : store\nPUT /a : jump"])
                }
                #expect(error?.description.contains("line 2") == true)
                #expect(try await status("/a") == "503")
                #expect(try await status("/a") == "201")
                try await control.ask(["script": .null])
                #expect(try await status("/a") == "201")
                let statistics = try await control.ask(["ask": "statistics"])
                let answered = statistics["requests"]?.elements?.map { $0["status"]?.integer }
                #expect(answered == [201, 503, 201, 201])
            }
        }
    }
}
