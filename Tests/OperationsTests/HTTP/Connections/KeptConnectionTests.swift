import Commands
import Foundation
import HTTPClient
import Operations
import TestSupport
import Testing
import Work

/// Connections that are kept from one upload to the next.
@Suite struct KeptConnectionTests {
    @Test func `uses a connection again`() async throws {
        try await withReceiver { receiver, harness in
            let file = try harness.directory.file("a", sample(1000))
            for _ in 0..<20 { _ = try await harness.upload(file: file, to: "\(receiver.origin)/a") }
            #expect(receiver.requests.count == 20)
            #expect(receiver.connections == 1)
        }
    }

    @Test func `survives a connection that was closed while it was idle`() async throws {
        try await withReceiver { receiver, harness in
            // Each answer is followed by a close that was not announced: the next request may meet it half-way.
            receiver.on("/a", .answerAndClose)
            let file = try harness.directory.file("a", sample(1000))
            for _ in 0..<50 {
                let result = try await harness.upload(file: file, to: "\(receiver.origin)/a")
                #expect(result["status"]?.integer == 201)
            }
        }
    }

    /// A kept connection that closes may have closed before the request came; who may be executed once does not try.
    @Test(arguments: [true, false])
    func `sends again what a kept connection has swallowed, if that may be`(isIdempotent: Bool) async throws {
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

    /// It is in doubt where it meets the close of a connection that stood idle.
    @Test(arguments: [(Duration.zero, [0, 1, 1, 2]), (.seconds(60), [0, 0, 0, 0])])
    func `a request that must be sent once takes a young connection or a new one`(
        _ youth: Duration, _ connections: [Int]
    ) async throws {
        var configuration = HTTPConfiguration()
        configuration.keepAliveOnce = youth
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

    /// Its kernel has taken the request in.
    @Test(arguments: [0, 1000]) func `a kept connection whose peer answers late is not taken for dead`(
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

    @Test func `who is cancelled leaves the others alone`() async throws {
        try await withReceiver { receiver, harness in
            let kept = try await Self.keep(3, to: receiver.origin, receiver, harness)
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

    /// Uploads so many files at once, so that each has a connection of its own. - Returns: the numbers of these.
    private static func keep(
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
    func `where one turns out to be dead, the others are not tried`(isEncrypted: Bool) async throws {
        var options = MisbehavingReceiver.Options()
        if isEncrypted { options.identity = .selfSigned }
        let directory = try TemporaryDirectory("trust")
        defer { directory.remove() }
        let roots = try directory.file("roots.pem", Array(TestIdentity.selfSigned.certificate.utf8))
        try await withReceiver(options, trustRoots: isEncrypted ? roots : nil) { receiver, harness in
            let origin = isEncrypted ? "https://localhost:\(receiver.port)" : receiver.origin
            let kept = try await Self.keep(6, to: origin, receiver, harness)
            let file = try harness.directory.file("b", sample(1000))
            receiver.on("/b", .reset(.head), .answer(201))
            _ = try await harness.upload(file: file, to: "\(origin)/b")
            #expect(receiver.requests(to: "/b").map { kept.contains($0.connection) } == [true, false])
        }
    }
}
