import Commands
import Foundation
import HTTPClient
import Operations
import TestSupport
import Testing
import Transfers

/// Connections that carry several uploads.
@Suite struct KeptConnectionTests {
    @Test func `a connection is reused`() async throws {
        try await withReceiver { receiver, harness in
            let file = try harness.directory.file("a", sample(1000))
            for _ in 0..<20 { _ = try await harness.upload(file: file, to: "\(receiver.origin)/a") }
            #expect(receiver.requests.count == 20)
            #expect(receiver.connections == 1)
        }
    }

    @Test func `an upload succeeds after the close of an idle connection`() async throws {
        try await withReceiver { receiver, harness in
            // Each answer is followed by an unannounced close, which may cross with the next request.
            receiver.on("/a", .answerAndClose)
            let file = try harness.directory.file("a", sample(1000))
            for _ in 0..<50 {
                let result = try await harness.upload(file: file, to: "\(receiver.origin)/a")
                #expect(result["status"]?.integer == 201)
            }
        }
    }

    /// A kept connection may have been closed before the request arrived. A command that is not idempotent is
    /// not sent again.
    @Test(arguments: [true, false])
    func `a request on a lost kept connection is sent again only if it is idempotent`(isIdempotent: Bool) async throws {
        try await withReceiver { receiver, harness in
            receiver.on("/b", .close(.body))
            let file = try harness.directory.file("a", sample(1000))
            _ = try await harness.upload(file: file, to: "\(receiver.origin)/a")
            let (execution, _) = try harness.execution(
                file: file, to: "\(receiver.origin)/b", idempotent: isIdempotent)
            let failure = await #expect(throws: CommandFailure.self) { try await harness.run(execution) }
            #expect(failure?.ambiguous == true)
            let count = receiver.requests(to: "/b").count
            #expect(isIdempotent ? count > 1 : count == 1, "\(count) requests")
        }
    }

    /// A request that crosses with the close of an idle connection is ambiguous.
    @Test(arguments: [(Duration.zero, [0, 1, 1, 2]), (.seconds(60), [0, 0, 0, 0])])
    func `a request that is not idempotent takes a young connection or a new one`(
        _ youth: Duration, _ connections: [Int]
    ) async throws {
        var configuration = HTTPConfiguration()
        configuration.nonIdempotentKeepAlive = youth
        try await withReceiver(configuration: configuration) { receiver, harness in
            let file = try harness.directory.file("a", sample(1000))
            for isIdempotent in [true, false, true, false] {
                let (execution, _) = try harness.execution(
                    file: file, to: "\(receiver.origin)/a", idempotent: isIdempotent)
                _ = try await harness.run(execution)
            }
            #expect(receiver.requests.map(\.connection) == connections)
        }
    }

    /// The peer's kernel has acknowledged the request.
    @Test(arguments: [0, 1000]) func `a kept connection whose peer answers late does not count as dead`(
        _ size: Int
    ) async throws {
        var configuration = HTTPConfiguration()
        configuration.client.silenceTimeout = .milliseconds(300)
        configuration.responseTimeout = .milliseconds(1500)
        try await withReceiver(idleTimeout: .milliseconds(1500), configuration: configuration) { receiver, harness in
            receiver.on("/late", .hang(.body))
            let file = try harness.directory.file("a", sample(size))
            _ = try await harness.upload(file: file, to: "\(receiver.origin)/a")
            let failure = try await harness.failure(file: file, to: "\(receiver.origin)/late")
            #expect(failure.reason.contains("did not answer in time"))
            #expect(receiver.requests.map(\.connection) == [0, 0], "once, and over a kept connection")
        }
    }

    @Test func `a cancellation does not affect other connections`() async throws {
        try await withReceiver { receiver, harness in
            let kept = try await Self.keepConnections(3, to: receiver.origin, receiver, harness)
            let file = try harness.directory.file("b", sample(1000))
            receiver.on("/b", .hang(.head))
            let (execution, _) = try harness.execution(file: file, to: "\(receiver.origin)/b")
            let task = Task { try await harness.run(execution) }
            try await until("the request") { !receiver.requests(to: "/b").isEmpty }
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            try await until("the end of the connection") { receiver.requests(to: "/b").first?.ended != nil }
            _ = try await harness.upload(file: file, to: "\(receiver.origin)/c")
            let used = receiver.requests(to: "/c").map(\.connection)
            #expect(used.count == 1 && kept.isSuperset(of: used), "\(used)")
        }
    }

    /// Uploads `count` files at once, so that each has a connection of its own.
    /// - Returns: the numbers of the connections.
    private static func keepConnections(
        _ count: Int, to origin: String, _ receiver: MisbehavingReceiver, _ harness: UploadHarness
    ) async throws -> Set<Int> {
        let file = try harness.hollowFile(1_000_000)
        let executions = try (0..<count).map { _ in
            try harness.execution(file: file, to: "\(origin)/a").execution
        }
        for execution in executions { execution.pace.set(20_000) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for execution in executions { group.addTask { _ = try await harness.run(execution) } }
            try await until("all requests") { receiver.requests.count == count }
            for execution in executions { execution.pace.set(nil) }
            try await group.waitForAll()
        }
        let kept = Set(receiver.requests.map(\.connection))
        #expect(kept.count == count)
        return kept
    }

    @Test(arguments: [false, true])
    func `after one dead kept connection the others are not tried`(isEncrypted: Bool) async throws {
        var options = MisbehavingReceiver.Options()
        if isEncrypted { options.identity = .selfSigned }
        let directory = try TemporaryDirectory("trust")
        defer { directory.remove() }
        let roots = try directory.file("roots.pem", Array(TestIdentity.selfSigned.certificate.utf8))
        try await withReceiver(options, trustRoots: isEncrypted ? roots : nil) { receiver, harness in
            let origin = isEncrypted ? "https://localhost:\(receiver.port)" : receiver.origin
            let kept = try await Self.keepConnections(6, to: origin, receiver, harness)
            let file = try harness.directory.file("b", sample(1000))
            receiver.on("/b", .reset(.head), .answer(201))
            _ = try await harness.upload(file: file, to: "\(origin)/b")
            #expect(receiver.requests(to: "/b").map { kept.contains($0.connection) } == [true, false])
        }
    }
}
