import Commands
import Foundation
import Store
import TestSupport
import Testing

extension EndToEndTests {
    /// The example executable: a worker with a custom operation, which uses only the library.
    struct ExampleWorkerTests {
        @Test(.enabled(if: runsSlowTests, "slow"))
        func `the example worker joins a running up, gets its commands, and recovers like any worker`() async throws {
            try await Installation.with { installation in
                _ = try await installation.up()
                func join() async throws -> ChildProcess {
                    let worker = try installation.start(
                        program: "\(Installation.bin)/example-worker", [installation.data])
                    try await installation.ready(worker)
                    return worker
                }
                // No worker has ever run the type, so it is refused until the example has registered.
                #expect(try await installation.sluice("submit", "checksum").code == 65)
                let first = try await join()
                let file = try installation.directory.file("file", Array("a".utf8))
                func submit(_ path: String) async throws -> CommandID? {
                    try await installation.sluice(
                        "submit", "checksum", "--payload", #"{"file":"\#(path)"}"#
                    ).ids.first
                }
                let id = try await awaited("the type to be known") { try await submit(file) }
                let store = try installation.store()
                try await installation.await(id, .success, in: store)
                let result = try JSONValue(parsing: #require(try store.result(id)))
                #expect(result["checksum"]?.string == "af63dc4c8601ec8c")
                #expect(result["bytes"]?.integer == 1)

                // A pipe without a writer blocks an execution until the test writes to it.
                let pipe = "\(installation.directory.path)/pipe"
                #expect(mkfifo(pipe, 0o600) == 0)
                let held = try #require(try await submit(pipe))
                let sent = try await installation.await(held, .sent, in: store)
                #expect(sent.seat == (try store.sessions().first { $0.pid == first.pid })?.seat)
                first.signal(SIGKILL)
                try await installation.await(held, .new, in: store)
                // The built-in worker does not run the type, so the command waits, and explain names the
                // reason.
                let explained = try await installation.sluice("explain", "\(held)")
                #expect(explained.code == 0)
                #expect(explained.output.contains("checksum"), "\(explained.output)")

                let second = try await join()
                try await installation.await(held, .sent, in: store)
                let writer = try installation.start(program: "/bin/sh", ["-c", "printf a > '\(pipe)'"])
                #expect(await writer.end == .exited(0))
                #expect(try await installation.await(held, .success, in: store).claim == 2)

                second.signal(SIGTERM)
                #expect(try await second.end(within: .seconds(30)) == .exited(0))
            }
        }
    }
}
