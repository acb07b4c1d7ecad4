import Commands
import Foundation
import HTTPClient
import Operations
import Synchronization
import TestSupport
import Testing

@testable import FileOps
@testable import Transfers

/// The checkpoint of a command.
private final class Checkpoint: Sendable {
    private let state = Mutex<[UInt8]?>(nil)

    var bytes: [UInt8]? {
        get { state.withLock { $0 } }
        set { state.withLock { $0 = newValue } }
    }
}

/// Uploads by every dialect to a destination that answers at random and records what it has received.
@Suite struct ResumptionFuzzTests {
    /// The maximum requests of one execution. Queries without progress are limited, and progress by chance is
    /// rare.
    private static let maxRequests = 400
    private static let maxExecutions = 40

    private struct Case {
        var method: String
        var size: Int
        var removes: Bool
        var isIdempotent: Bool
        var character: RandomDestination.Character
    }

    private static func draw(_ random: inout SeededRandom) -> Case {
        let method = ["tus", "tus", "session", "length", "put"].randomElement(using: &random) ?? "tus"
        var character = RandomDestination.Character()
        character.trouble = [0, 0.1, 0.3, 0.6].randomElement(using: &random) ?? 0.3
        character.processes = method == "tus" && random.chance(0.3)
        character.isSticky = random.chance(0.3)
        character.isSession = method == "session"
        character.isReadable = random.chance(0.7)
        if method == "tus", random.chance(0.3) { character.bodyLimit = 70_000 }
        let size = [0, 1, 2, 5_000, 40_000, 150_000].randomElement(using: &random) ?? 1
        return Case(
            method: method, size: size, removes: random.chance(0.3),
            isIdempotent: method != "tus" || random.chance(0.6),
            character: character)
    }

    @Test(.enabled(if: runsSlowTests, "slow"))
    func `no upload succeeds unless the destination holds every byte, and none is lost`() async throws {
        var random = SeededRandom.announced("resumption fuzz")
        let destination = RandomDestination(SeededRandom(seed: random.next()))
        try await run(
            &random, exchanges: 3000, destination, "http://destination.test",
            InProcessTransport(destination: destination))
    }

    @Test func `no upload over sockets succeeds unless the destination holds every byte`() async throws {
        var random = SeededRandom.announced("resumption fuzz over sockets")
        let destination = RandomDestination(SeededRandom(seed: random.next()))
        let server = try SocketDestination(destination)
        defer { server.stop() }
        try await run(
            &random, exchanges: 500, destination, server.origin, HTTPTransport(configuration: HTTPConfiguration()))
    }

    private func run(
        _ random: inout SeededRandom, exchanges: Int, _ destination: RandomDestination, _ origin: String,
        _ transport: any RequestTransport
    ) async throws {
        let directory = try TemporaryDirectory("resumption")
        defer { directory.remove() }
        var (commands, successes) = (0, 0)
        while destination.exchanges < exchanges {
            let drawn = Self.draw(&random)
            commands += 1
            let file = try directory.file("a", Self.bytes(drawn.size, &random))
            if try await execute(drawn, file, origin, transport, destination) { successes += 1 }
            try #require(destination.faults.isEmpty, "\(destination.faults)")
        }
        // Most failures pass.
        #expect(successes > commands / 3, "\(successes) of \(commands)")
    }

    private static func bytes(_ count: Int, _ random: inout SeededRandom) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count + 8) { buffer, filled in
            for start in stride(from: 0, to: count, by: 8) {
                UnsafeMutableRawBufferPointer(buffer).storeBytes(
                    of: random.next(), toByteOffset: start, as: UInt64.self)
            }
            filled = count
        }
    }

    /// - Returns: whether the upload succeeded.
    private func execute(
        _ drawn: Case, _ file: String, _ origin: String, _ transport: any RequestTransport,
        _ destination: RandomDestination
    ) async throws -> Bool {
        destination.begin(drawn.character)
        let bytes = try #require(contents(of: file))
        let target = Destination(origin)
        var timing = UploadTiming()
        timing.vanishedRecheckDelay = .zero
        (timing.acceptedRecheckDelays, timing.contradictionRecheckDelays) = ([.zero], [.zero])
        var operation = UploadOperation(
            transport: transport, lockRetryDelays: [.zero], credentials: CredentialStore())
        operation.timing = timing
        let path = drawn.method == "tus" ? "/tus" : "/in/a"
        let attributes = try operation.inspect([
            "file": .string(file), "to": .string(origin + path), "removeSource": .bool(drawn.removes),
            "protocol": .string(drawn.method == "tus" || drawn.method == "put" ? drawn.method : "contentRange"),
        ])
        let checkpoint = Checkpoint()
        let id = CommandID()
        var offset: Int64 = 0
        for claim in 1...Self.maxExecutions {
            var command = Command(id: id, type: "upload", destination: target ?? .none, createdAt: .now)
            command.status = .sent
            command.idempotent = drawn.isIdempotent
            command.claim = claim
            command.total = attributes.total
            let meter = TransferMeter(offset: offset, total: attributes.total)
            let execution = CommandExecution(
                command: command, payload: attributes.payload?.bytes ?? [], checkpoint: checkpoint.bytes, meter: meter,
                saver: { checkpoint.bytes = $0 })
            let before = destination.exchanges
            do {
                let result = try JSONValue(parsing: try #require(try await operation.execute(execution)))
                requireDelivered(drawn, destination, result, bytes)
                if result["sourceRemoved"]?.bool != true { #expect(access(file, F_OK) == 0) }
                return true
            } catch let failure as CommandFailure {
                #expect(!failure.reason.isEmpty)
                #expect(access(file, F_OK) == 0, "the source was deleted after a failure: \(failure)")
                #expect(destination.exchanges - before <= Self.maxRequests)
                if failure.fault == .final { break }
                // An ambiguous command waits for a person.
                if failure.ambiguous, !drawn.isIdempotent { break }
            }
            offset = meter.reading.offset
        }
        if !drawn.isIdempotent {
            #expect(destination.completed.count <= 1, "\(drawn) was delivered \(destination.completed.count) times")
        }
        return false
    }

    private func requireDelivered(
        _ drawn: Case, _ destination: RandomDestination, _ result: JSONValue, _ bytes: [UInt8]
    ) {
        #expect(bytes.isEmpty || destination.completed.contains { $0 == bytes }, "\(drawn): \(result)")
        if !drawn.isIdempotent {
            #expect(destination.completed.count == 1, "\(drawn) was delivered \(destination.completed.count) times")
        }
        guard !drawn.character.processes else { return }
        let path =
            drawn.method == "tus"
            ? result["headers"]?["location"]?.string.map { "/tus/" + ($0.split(separator: "/").last ?? "") } : "/in/a"
        let isThere = path.flatMap { destination.held($0) } == bytes
        #expect(isThere, "\(drawn): \(result)")
    }
}
