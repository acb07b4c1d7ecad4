import Commands
import Foundation
import Host
import TestSupport
import Testing

@Suite struct UploadCancellationTests {
    @Test func `a cancellation stops the bytes within 100 ms`() async throws {
        var options = MisbehavingReceiver.Options()
        options.hashes = false
        try await withReceiver(options) { receiver, harness in
            let file = try harness.hollowFile(1 << 40)
            var delays: [Duration] = []
            for attempt in 1...7 {
                let (execution, _) = try harness.execution(file: file, to: "\(receiver.origin)/\(attempt)")
                let task = Task { try await harness.run(execution) }
                var request: ReceivedRequest? { receiver.requests(to: "/\(attempt)").first }
                try await until("ten megabytes") { (request?.bytes ?? 0) > 10_000_000 }
                let cancelled = MonotonicTime.now
                task.cancel()
                await #expect(throws: CancellationError.self) { try await task.value }
                try await until("the end of the connection") { request?.ended != nil }
                let last = try #require(request)
                #expect(!last.isWhole)
                delays.append(last.lastByte - cancelled)
            }
            // One delay may be longer: on a busy machine the receiver itself may wait for a core.
            #expect(delays.count { $0 > .milliseconds(100) } <= 1, "\(delays)")
            #expect(delays.allSatisfy { $0 <= .seconds(2) }, "\(delays)")
        }
    }

    @Test(.enabled(if: runsSlowTests, "slow"))
    func `a fast peer does not delay other uploads`() async throws {
        var options = MisbehavingReceiver.Options()
        options.hashes = false
        try await withReceiver(options) { receiver, harness in
            let file = try harness.hollowFile(1 << 40)
            let (endless, _) = try harness.execution(file: file, to: "\(receiver.origin)/endless")
            let small = try harness.directory.file("small", [1])
            let task = Task { try await harness.run(endless) }
            try await until("ten megabytes") { (receiver.requests.first?.bytes ?? 0) > 10_000_000 }
            var sent: [Int] = []
            for number in 1...40 {
                let before = receiver.requests(to: "/endless").first?.bytes ?? 0
                _ = try await harness.upload(file: small, to: "\(receiver.origin)/\(number)")
                sent.append((receiver.requests(to: "/endless").first?.bytes ?? 0) - before)
            }
            task.cancel()
            _ = try? await task.value
            // In bytes of the fast peer, because other processes of a busy machine slow both uploads alike. Half of the
            // uploads may wait for a core.
            #expect(sent.sorted()[20] < 128 << 20, "\(sent)")
        }
    }

    @Test(arguments: [false, true])
    func `a cancellation discards the bytes that the kernel holds for a slow peer`(isEncrypted: Bool) async throws {
        var options = MisbehavingReceiver.Options()
        options.hashes = false
        options.receiveBuffer = 16 << 10
        if isEncrypted { options.identity = .selfSigned }
        let directory = try TemporaryDirectory("trust")
        defer { directory.remove() }
        let roots = try directory.file("roots.pem", Array(TestIdentity.selfSigned.certificate.utf8))
        try await withReceiver(options, trustRoots: isEncrypted ? roots : nil) { receiver, harness in
            receiver.on("/a", .slow(bytesPerSecond: 400_000))
            let file = try harness.hollowFile(1 << 30)
            let origin = isEncrypted ? "https://localhost:\(receiver.port)" : receiver.origin
            let (execution, _) = try harness.execution(file: file, to: "\(origin)/a")
            let task = Task { try await harness.run(execution) }
            try await until("a hundred kilobytes") { (receiver.requests.first?.bytes ?? 0) > 100_000 }
            let before = receiver.requests.first?.bytes ?? 0
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            try await until("the end of the connection") { receiver.requests.first?.ended != nil }
            let came = receiver.requests.first?.bytes ?? 0
            // The 256 KiB in the buffers of this host have not arrived.
            #expect(came < before + (128 << 10))
        }
    }

    @Test(arguments: [Behaviour.hang(.head), .hang(.body)])
    func `a cancellation does not wait for a hung peer`(_ behaviour: Behaviour) async throws {
        try await withReceiver { receiver, harness in
            receiver.on("/a", behaviour)
            let file = try harness.directory.file("a", sample(1000))
            let (execution, _) = try harness.execution(file: file, to: "\(receiver.origin)/a")
            let task = Task { try await harness.run(execution) }
            try await until("the request") { !receiver.requests.isEmpty }
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            try await until("the end of the connection") { receiver.requests.first?.ended != nil }
        }
    }

    @Test func `a task that is already cancelled sends nothing`() async throws {
        try await withReceiver { receiver, harness in
            let file = try harness.directory.file("a", sample(1000))
            let (execution, _) = try harness.execution(file: file, to: "\(receiver.origin)/a")
            let gate = Task {
                // The task is already cancelled when the upload begins.
                while !Task.isCancelled { await Task.yield() }
                return try await harness.run(execution)
            }
            gate.cancel()
            let failure = await #expect(throws: CommandFailure.self) { try await gate.value }
            #expect(failure?.ambiguous == false)
            #expect(receiver.requests.isEmpty)
        }
    }

    @Test func `the client works after cancelled uploads`() async throws {
        try await withReceiver { receiver, harness in
            let big = try harness.hollowFile(1 << 30)
            let small = try harness.directory.file("small", [1])
            for round in 1...10 {
                let (execution, _) = try harness.execution(file: big, to: "\(receiver.origin)/big\(round)")
                let task = Task { try await harness.run(execution) }
                try await until("a byte") { (receiver.requests(to: "/big\(round)").first?.bytes ?? 0) > 0 }
                task.cancel()
                _ = try? await task.value
                let result = try await harness.upload(file: small, to: "\(receiver.origin)/small")
                #expect(result["status"]?.integer == 201)
            }
        }
    }
}
