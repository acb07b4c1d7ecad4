import Commands
import Foundation
import Synchronization
import TestSupport
import Testing

/// Answers to a POST that cannot be saved: the request was carried out, so it is not sent again.
@Suite struct SavedResponseTests {
    @Test(arguments: [
        ("a body that is cut off", "* * : read; answer 200 body \"x\" length 2; close", 1 << 20, "cut off"),
        ("a body beyond the limit", "* * : read; answer 200 body 300k", 1000, "maxBody"),
    ])
    func `a POST is in doubt where its answer arrived and could not be saved`(
        _ name: String, _ script: String, _ maxBody: Int, _ words: String
    ) async throws {
        try await RequestHarness.with(script) { harness in
            let outcome = try await harness.outcome([
                "url": harness.url("/a"), "method": "POST", "body": "x",
                "saveTo": .string("\(harness.directory.path)/out"), "maxBody": .integer(Int64(maxBody)),
            ])
            #expect(outcome.failure?.ambiguous == true && outcome.failure?.reason.contains(words) == true, "\(outcome)")
            #expect(try FileManager.default.contentsOfDirectory(atPath: harness.directory.path).isEmpty, "\(name)")
        }
    }

    @Test(.enabled(if: SmallFileSystem.mayExist, "only root can mount a small tmpfs"))
    func `a POST is in doubt where its answer has no room on the disk`() async throws {
        try await RequestHarness.with("* * : read; answer 200 body 3M") { harness in
            let path = "\(harness.directory.path)/small"
            guard let disk = try await SmallFileSystem("512k", at: path, log: harness.directory) else { return }
            defer { disk.remove() }
            let outcome = try await harness.outcome([
                "url": harness.url("/a"), "method": "POST", "body": "x", "saveTo": .string("\(path)/out"),
            ])
            #expect(outcome.failure?.ambiguous == true, "\(outcome)")
            #expect(outcome.failure?.reason.contains("no space left") == true, "\(outcome)")
            #expect(try FileManager.default.contentsOfDirectory(atPath: path).isEmpty)
        }
    }

    @Test func `a POST is not in doubt where the file cannot be made before it is sent`() async throws {
        try await RequestHarness.with("* * : read; answer 200") { harness in
            let outcome = try await harness.outcome([
                "url": harness.url("/a"), "method": "POST", "body": "x",
                "saveTo": .string("\(harness.directory.path)/missing/out"),
            ])
            #expect(outcome.failure != nil && outcome.failure?.ambiguous == false, "\(outcome)")
            #expect(harness.server.requests.isEmpty)
        }
    }

    @Test func `a 404 to a DELETE is a success only where an earlier execution may have deleted`() async throws {
        let script = """
            * * #1 : answer 503 header "Connection: close"; close
            * * #2 : read; close
            * * : answer 404
            """
        try await RequestHarness.with(script) { harness in
            let checkpoint = Mutex<[UInt8]?>(nil)
            func outcome(claim: Int) async throws -> OperationOutcome {
                let execution = try harness.execution(
                    ["url": harness.url("/a"), "method": "DELETE"], claim: claim, crashes: 0,
                    checkpoint: checkpoint.withLock { $0 }
                ) { state in checkpoint.withLock { $0 = state } }
                return try await harness.outcome(of: execution)
            }
            let refused = try await outcome(claim: 1)
            #expect(refused.failure?.fault == .link && checkpoint.withLock { $0 } == nil, "\(refused)")
            let cut = try await outcome(claim: 2)
            #expect(cut.failure?.fault == .reset && checkpoint.withLock { $0 } != nil, "\(cut)")
            let gone = try await outcome(claim: 3)
            #expect(gone.result?["alreadyGone"]?.bool == true, "\(gone)")
        }
        try await RequestHarness.with("* * #1 : answer 503\n* * : answer 404") { harness in
            for claim in 1...2 {
                let execution = try harness.execution(
                    ["url": harness.url("/a"), "method": "DELETE"], claim: claim, crashes: 0)
                let outcome = try await harness.outcome(of: execution)
                #expect(outcome.failure?.fault == (claim == 1 ? .link : .final), "\(outcome)")
            }
        }
    }
}
