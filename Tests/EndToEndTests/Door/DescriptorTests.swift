import Commands
import Foundation
import TestSupport
import Testing

extension EndToEndTests {
    /// Doors whose processes may open few files.
    @Suite struct DescriptorTests {
        private static let limit = 400

        @Test(.enabled(if: runsSlowTests && isAvailable(PythonScript.has("socket")), "needs Python"))
        func `a door with too many connections refuses some by rule, and its uploads end`() async throws {
            try await Installation.with { installation in
                let door = try await DoorRig(installation, shell: "ulimit -n \(Self.limit)")
                let python = try #require(PythonScript.interpreter(with: "socket"))
                for _ in 0..<2 {
                    let pressed = try await installation.run(
                        program: python,
                        [
                            PythonScript.path("descriptor-pressure.py"), "\(door.port)", try door.token,
                            "\(try door.pid)", "50", "400",
                        ])
                    #expect(pressed.code == 0, "\(pressed.errors)\n\(door.errors)")
                    let figures = try pressed.json()
                    let most = try #require(figures["descriptors"]?.integer)
                    // libdispatch needs some at any time.
                    #expect(most <= Self.limit - 32, "\(figures)")
                    #expect((figures["kept"]?.integer ?? 0) + 50 <= 72, "\(figures)")
                }
                // The same process has lived through both.
                #expect(try await door.stop() == .exited(0))
            }
        }

        @Test(arguments: [(64, "256 are needed"), (270, "the door needs 288")])
        func `a limit with which no door can run is an error with its remedy`(limit: Int, words: String) async throws {
            try await Installation.with { installation in
                let finished = try await installation.run(
                    program: "/bin/sh",
                    [
                        "-c", "ulimit -n \(limit) && exec \"$0\" door --listen 127.0.0.1:0",
                        "\(Installation.bin)/sluice",
                    ])
                #expect(finished.code == 75, "\(finished.errors)")
                #expect(finished.errors.contains(words) && finished.errors.contains("ulimit -n"), "\(finished.errors)")
            }
        }
    }
}
