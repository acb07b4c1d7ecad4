import Commands
import Foundation
import HTTPClient
import Operations
import Synchronization
import TestSupport
import Testing

@testable import FileOps
@testable import S3
@testable import Transfers

@Suite struct CleanupOperationTests {
    /// The checkpoint of a command between its executions.
    private final class Saved: Sendable {
        private let bytes = Mutex<[UInt8]?>(nil)
        var checkpoint: [UInt8]? { bytes.withLock { $0 } }
        func save(_ checkpoint: [UInt8]) { bytes.withLock { $0 = checkpoint } }
    }

    private func run(
        _ payload: JSONValue, by operation: CleanupOperation, _ saved: Saved = Saved()
    ) async throws -> OperationOutcome {
        let attributes = try operation.inspect(payload)
        var command = Command(id: CommandID(), type: "cleanup", destination: attributes.destination, createdAt: .now)
        (command.status, command.idempotent, command.claim) = (.sent, true, 1)
        let execution = CommandExecution(
            command: command, payload: attributes.payload?.bytes ?? [], checkpoint: saved.checkpoint,
            meter: TransferMeter(), saver: { saved.save($0) })
        do {
            return .success(try JSONValue(parsing: try await operation.execute(execution) ?? Array("{}".utf8)))
        } catch let failure as CommandFailure {
            return .failure(failure)
        }
    }

    // MARK: Part files

    private func delete(_ id: CommandID, claim: Int, at target: String) async throws -> OperationOutcome {
        try await run(
            ["part": .string(target), "command": .string("\(id)"), "claim": .integer(Int64(claim))],
            by: CleanupOperation(s3: .unused))
    }

    @Test func `the part files of one command are deleted, and no other file`() async throws {
        let directory = try TemporaryDirectory("cleanup")
        defer { directory.remove() }
        let (id, other) = (CommandID(), CommandID())
        let target = CopyTarget(path: "\(directory.path)/a.mp4")
        let parts = [1, 3].map { target.temporaryPath(id, claim: $0) }
        // The target itself, a part of a later execution, and one of another command.
        let kept = [target.path, target.temporaryPath(id, claim: 4), target.temporaryPath(other, claim: 1)]
        for path in parts + kept { try Data([1]).write(to: URL(fileURLWithPath: path)) }
        let outcome = try await delete(id, claim: 3, at: target.path)
        #expect(outcome.result == ["deleted": 2], "\(outcome)")
        #expect(parts.allSatisfy { access($0, F_OK) != 0 } && kept.allSatisfy { access($0, F_OK) == 0 })
        #expect(try await delete(id, claim: 3, at: target.path).result == ["deleted": 0])
    }

    @Test func `the target of a symbolic link is where the part file is`() async throws {
        let directory = try TemporaryDirectory("cleanup")
        defer { directory.remove() }
        let there = try directory.makeDirectory("there")
        let id = CommandID()
        let part = CopyTarget(path: "\(there)/b").temporaryPath(id, claim: 1)
        try Data([1]).write(to: URL(fileURLWithPath: part))
        #expect(symlink("there/b", "\(directory.path)/a") == 0)
        #expect(try await delete(id, claim: 1, at: "\(directory.path)/a").result == ["deleted": 1])
    }

    @Test func `a directory that does not exist has no part files`() async throws {
        let outcome = try await delete(CommandID(), claim: 2, at: "/nonexistent/in/a.mp4")
        #expect(outcome.result == ["deleted": 0], "\(outcome)")
    }

    // MARK: Multipart uploads

    /// Runs a test with an upload of two acknowledged parts that no execution continues.
    private func withUpload(
        _ body: (S3Harness, JSONValue, CleanupOperation) async throws -> Void
    ) async throws {
        try await S3Harness.with { harness in
            let (path, _) = try harness.file(11 << 20)
            // Create, two parts, and a third that is not answered.
            harness.store.die(at: 4, afterwards: false)
            let execution = try harness.execution(harness.payload(path))
            _ = try await harness.outcome(of: execution)
            harness.store.revive()
            harness.store.forgetLog()
            #expect(harness.store.uploads.count == 1)
            var command = execution.command
            command.status = .cancelled
            let checkpoint = try #require(harness.checkpoint)
            let draft = try #require(
                CleanupDraft.after(command, payload: execution.payload, checkpoint: checkpoint.bytes))
            unlink(path)
            try await body(harness, try JSONValue(parsing: draft.payload), CleanupOperation(s3: harness.operation))
        }
    }

    @Test func `an upload is aborted without its file, and its parts are looked for`() async throws {
        try await withUpload { harness, payload, operation in
            let outcome = try await run(payload, by: operation)
            #expect(outcome.failure?.isHeldBack == true && harness.store.uploads.isEmpty, "\(outcome)")
            #expect(harness.store.log == [.abort, .listParts])
            // The second time it is gone already, and so it is with its bucket.
            #expect(try await run(payload, by: operation).failure?.isHeldBack == true)
            harness.store.fail(.abort, .refuse(404, "NoSuchBucket"))
            #expect(try await run(payload, by: operation).failure?.isHeldBack == true)
        }
    }

    @Test func `a refused abort is charged, and another try may succeed`() async throws {
        try await withUpload { harness, payload, operation in
            harness.store.fail(.abort, .refuse(403, "AccessDenied"), .refuse(503, "SlowDown"), .die(afterwards: false))
            let denied = try await run(payload, by: operation)
            #expect(denied.failure?.fault == .command, "\(denied)")
            #expect(denied.failure?.reason.contains("s3:AbortMultipartUpload") == true, "\(denied)")
            let slowed = try await run(payload, by: operation)
            #expect(slowed.failure?.isPushback == true && slowed.failure?.fault != .final, "\(slowed)")
            #expect(try await run(payload, by: operation).failure?.fault == .reset)
            harness.store.revive()
            #expect(try await run(payload, by: operation).failure?.isHeldBack == true)
            #expect(harness.store.uploads.isEmpty)
        }
    }

    @Test func `parts that arrive after the abort are aborted again`() async throws {
        try await withUpload { harness, payload, operation in
            let part = "<Part><PartNumber>1</PartNumber><ETag>&quot;a&quot;</ETag><Size>1</Size></Part>"
            let list = "<ListPartsResult>\(part)</ListPartsResult>"
            harness.store.fail(.listParts, .answer(list), .answer(list), .answer(list))
            let outcome = try await run(payload, by: operation)
            #expect(outcome.failure?.fault == .command, "\(outcome)")
            #expect(harness.store.log.count { $0 == .abort } == 3)
        }
    }

    @Test func `a part that is stored after the abort is deleted an hour later`() async throws {
        try await withUpload { harness, payload, operation in
            let (id, upload) = try #require(harness.store.uploads.first)
            let saved = Saved()
            let first = try await run(payload, by: operation, saved)
            #expect(first.failure?.isHeldBack == true && first.failure?.retryAfter == .seconds(3600), "\(first)")
            // The store finishes a part that was under way.
            harness.store.add(upload, id)
            harness.store.forgetLog()
            // An execution before that time, as after the restart of a worker, waits for the rest of the hour.
            let early = try await run(payload, by: operation, saved)
            #expect(early.failure?.isHeldBack == true && harness.store.log.isEmpty, "\(early)")
            #expect(early.failure?.retryAfter.map { $0 > .seconds(3000) && $0 <= .seconds(3600) } == true, "\(early)")
            var later = operation
            later.secondLook = .zero
            let second = try await run(payload, by: later, saved)
            #expect(second.result != nil && harness.store.uploads.isEmpty, "\(second)")
            #expect(harness.store.log == [.abort, .listParts])
        }
    }

    @Test func `an upload that was aborted in time is aborted once more after an hour`() async throws {
        try await S3Harness.with { harness in
            let (path, _) = try harness.file(11 << 20)
            harness.store.fail(.part, .hang)
            let running = try harness.execution(harness.payload(path))
            let task = Task { try await harness.outcome(of: running) }
            try await until("the part that hangs") { harness.store.log.contains(.part) }
            #expect(harness.checkpoint?.uploadID != nil)
            let (id, upload) = try #require(harness.store.uploads.first)
            task.cancel()
            _ = try await task.value
            let checkpoint = try #require(harness.checkpoint)
            let abortedAt = try #require(checkpoint.abortedAt)
            #expect(harness.store.uploads.isEmpty)
            var command = running.command
            command.status = .cancelled
            let draft = try #require(
                CleanupDraft.after(command, payload: running.payload, checkpoint: checkpoint.bytes))
            #expect(draft.notBefore == abortedAt + .seconds(3600))
            harness.store.add(upload, id)
            harness.store.forgetLog()
            let operation = CleanupOperation(s3: harness.operation, secondLook: .zero)
            let outcome = try await run(try JSONValue(parsing: draft.payload), by: operation)
            #expect(outcome.result != nil && harness.store.uploads.isEmpty, "\(outcome)")
        }
    }
}

extension S3Operation {
    /// One that is never executed.
    static let unused = S3Operation(
        transport: HTTPTransport(configuration: HTTPConfiguration()), credentials: CredentialStore(),
        evidence: DestinationEvidence())
}
