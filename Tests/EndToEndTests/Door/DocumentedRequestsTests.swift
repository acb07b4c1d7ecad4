import Foundation
import TestSupport
import Testing

extension EndToEndTests {
    /// The requests of `deploy/DOOR.md`, as they are written there.
    @Suite(.enabled(if: isAvailable(PythonScript.has("tusclient")), "needs the packages of deploy/prepare test"))
    struct DocumentedRequestsTests {
        /// The code of the document in a language.
        private static func blocks(_ language: String) throws -> [String] {
            let path = "\(Installation.repository)/deploy/DOOR.md"
            let text = try String(contentsOfFile: path, encoding: .utf8)
            return text.components(separatedBy: "```\(language)\n").dropFirst().compactMap {
                $0.components(separatedBy: "```").first
            }
        }

        @Test func `each request of the document does what it says`() async throws {
            try await Installation.with { installation in
                try FileManager.default.createDirectory(
                    atPath: installation.data, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700]
                )
                try Data("routes: {archive: {command: {type: noop, payload: {}}}}\n".utf8)
                    .write(to: URL(fileURLWithPath: "\(installation.data)/sluice.yaml"))
                _ = try await installation.up()
                let door = try await DoorRig(installation)
                var random = SeededRandom.announced("DocumentedRequestsTests")
                _ = try installation.directory.file("a.mp4", random.bytes(1_500_000))
                func own(_ code: String) -> String {
                    code.replacingOccurrences(of: "127.0.0.1:7411", with: "127.0.0.1:\(door.port)")
                }
                // The first block starts what runs already. A stream of events has no end.
                let requests = try Self.blocks("sh").dropFirst().map(own).joined()
                    .replacingOccurrences(of: "curl -sN", with: "! timeout 1 curl -sN")
                let head = """
                    set -euo pipefail
                    cd '\(installation.directory.path)'
                    PATH='\(Installation.bin)':$PATH
                    curl() { command curl --fail-with-body "$@"; }

                    """
                let environment = ["SLUICE_DATA": installation.data]
                let shell = try await installation.run(
                    program: "/bin/bash", ["-c", head + requests], environment: environment)
                #expect(shell.code == 0, "\(shell.output.suffix(2000))\n\(shell.errors.suffix(4000))")
                #expect(shell.output.contains(#""status":"cancelled""#))
                let python = try #require(PythonScript.interpreter(with: "tusclient"))
                let program =
                    "import os; os.chdir('\(installation.directory.path)')\n"
                    + (try Self.blocks("python").map(own).joined())
                let tus = try await installation.run(program: python, ["-c", program], environment: environment)
                #expect(tus.code == 0, "\(tus.errors)")
                let listed = try await installation.sluice("uploads", "list", "--state", "complete", "--json")
                #expect(listed.lines.count >= 7, "\(listed.output)")
            }
        }
    }
}
