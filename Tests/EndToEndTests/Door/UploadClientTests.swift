import Commands
import Foundation
import TestSupport
import Testing

extension EndToEndTests {
    /// A small run of `deploy/test-uploads`, which has the rules.
    @Suite struct UploadClientTests {
        private static let clients = [
            "tuspy", "aiotus", "resumable-upload", "resumable-checksum", "resumable-parallel", "curl-put", "curl-ietf",
            "curl-changed",
        ]

        @Test(.enabled(if: isAvailable(PythonScript.has("resumable_upload")), "needs the peers of deploy/prepare test"))
        func `files of foreign clients arrive whole although the door is killed at any byte`() async throws {
            try await Installation.with { installation in
                let python = try #require(PythonScript.interpreter(with: "resumable_upload"))
                var random = SeededRandom.announced("UploadClientTests")
                let seed = random.number(in: 0..<1_000_000)
                let finished = try await installation.run(
                    program: python,
                    [
                        "\(Installation.repository)/deploy/test-uploads", "--files", "16", "--max-size", "12",
                        "--clients", Self.clients.joined(separator: ","), "--seed", "\(seed)", "--sluice",
                        "\(Installation.bin)/sluice", "--json",
                    ], within: .seconds(240))
                #expect(finished.code == 0, "\(finished.output)\n\(finished.errors)")
                let result = try finished.json()
                #expect(
                    result["identical"] == 16 && result["mixtures"] == 0
                        && result["problems"]?.elements?.isEmpty == true)
            }
        }
    }
}
