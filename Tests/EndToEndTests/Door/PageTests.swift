import Commands
import Foundation
import Store
import TestSupport
import Testing

extension EndToEndTests {
    /// The pages of a door in a headless Chromium.
    @Suite(.serialized, .enabled(if: isAvailable(program("chromedriver") != nil && PythonScript.has("selenium"))))
    struct PageTests {
        private static let script = "page-browser.py"

        /// A door with commands of several statuses, one with a hostile name, and a flow.
        private static func with(_ body: (Installation, DoorRig) async throws -> Void) async throws {
            try await Installation.with { installation in
                let door = try await DoorRig(installation)
                let name = "\"><svg onload=alert(1)>\u{202E}gpj 🙂"
                let file = try installation.directory.file(name, Array("x".utf8))
                for target in ["https://a.invalid/in/", "https://b.invalid/in/"] {
                    let put = try await installation.sluice("put", file, "--to", target)
                    #expect(put.code == 0, "\(put.errors)")
                }
                let flow = try installation.directory.file(
                    "flow.yaml", Array("name: import\nnodes:\n  a: {type: noop}\n  b: {type: noop, after: a}\n".utf8))
                let submitted = try await installation.sluice("flow", "submit", flow)
                #expect(submitted.code == 0, "\(submitted.errors)")
                try await body(installation, door)
            }
        }

        private static func start(
            _ mode: String, _ installation: Installation, _ door: DoorRig, _ arguments: [String] = []
        ) throws -> ChildProcess {
            let python = try #require(PythonScript.interpreter(with: "selenium"), "deploy/prepare test installs it")
            return try installation.start(
                program: python,
                [PythonScript.path(script), mode, door.origin, "\(Installation.bin)/sluice", installation.data]
                    + arguments)
        }

        @Test(arguments: ["views", "noscript", "keys"])
        func `every view works in a browser`(mode: String) async throws {
            try await Self.with { installation, door in
                let browser = try Self.start(mode, installation, door)
                let end = try await browser.end(within: .seconds(180))
                #expect(end == .exited(0), "\(browser.output)\n\(browser.errors)")
            }
        }

        @Test func `an upload goes on after a pause and after the door was killed`() async throws {
            try await Self.with { installation, door in
                var random = SeededRandom.announced("PageTests")
                let bytes = random.bytes(48 << 20)
                let file = try installation.directory.file("film.bin", bytes)
                let go = "\(installation.directory.path)/go"
                let browser = try Self.start("upload", installation, door, [file, go])
                try await until("the kill", within: .seconds(90)) {
                    if let ending = browser.ending { throw Missed("the browser ended: \(ending)\n\(browser.errors)") }
                    return browser.output.contains("kill")
                }
                try await door.kill()
                try await door.start()
                try Data().write(to: URL(fileURLWithPath: go))
                let end = try await browser.end(within: .seconds(120))
                #expect(end == .exited(0), "\(browser.output)\n\(browser.errors)")
                let store = try installation.store()
                var uploads: [Upload] = []
                for shard in 0..<store.shardCount {
                    uploads += try store.uploads(
                        shard: shard, state: .complete, order: .newestFirst, after: nil, limit: 10)
                }
                let upload = try #require(uploads.first)
                #expect(uploads.count == 1 && upload.facts.fileName == "film.bin")
                #expect(door.bytes("/\(upload.id)") == bytes)
            }
        }
    }
}
