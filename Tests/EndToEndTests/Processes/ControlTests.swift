import Commands
import Foundation
import Glibc
import Sluice
import Store
import TestSupport
import Testing
import Wire
import ZeroMQ

extension EndToEndTests {
    /// The control messages to workers, and the workers without them.
    struct ControlTests {
        @Test(.enabled(if: runsSlowTests, "slow"))
        func `control is repeated every second, and the newest message is complete`() async throws {
            try await Installation.with { installation in
                _ = try await installation.coordinator()
                _ = try await installation.worker()
                let subscriber = try await ControlSubscriber.listening(in: "\(installation.data)/run")
                let paused = ControlState.Pause(
                    group: Offers.group(of: Destination(scheme: "http", host: "a", port: 80)), qualities: 0x1F)
                _ = try await installation.sluice("pause", "--destination", "http://a")
                try await until("three of its messages") {
                    await subscriber.received.suffix(3).allSatisfy { $0.pauses == [paused] }
                }
                // The message is repeated without a change.
                let (count, since) = (await subscriber.received.count, ContinuousClock.now)
                try await until("three more") { await subscriber.received.count >= count + 3 }
                #expect(ContinuousClock.now - since < .seconds(5))
                #expect(await subscriber.received.suffix(3).allSatisfy { $0.pauses == [paused] })
                #expect(await subscriber.received.last?.registered.count == 1)
                _ = try await installation.sluice("resume", "--destination", "http://a")
                try await until("its end") { await subscriber.received.last?.pauses.isEmpty == true }
                let sequences = await subscriber.sequences
                #expect(sequences == sequences.sorted() && Set(sequences).count == sequences.count)
                await subscriber.close()
            }
        }

        @Test func `each message of a new coordinator has the rates set by a person`() async throws {
            try await Installation.with { installation in
                let receiver = try await installation.receiver(hashes: false)
                receiver.on("/slow", .slow(bytesPerSecond: 200_000))
                let file = try installation.directory.file("zeros", [])
                #expect(truncate(file, 100_000_000) == 0)
                let coordinator = try await installation.coordinator()
                _ = try await installation.worker()
                _ = try await installation.sluice("put", file, "--to", "\(receiver.origin)/slow", "--protocol", "put")
                try await until("the first bytes") { receiver.requests(to: "/slow").first?.bytes ?? 0 > 0 }
                let subscriber = try await ControlSubscriber.listening(in: "\(installation.data)/run")
                func isLimited(_ state: ControlState) -> Bool {
                    QualityOfService.allCases.allSatisfy { qos in
                        state.paces.contains { $0.qos == qos && $0.bytesPerSecond <= 100_000 }
                    }
                }
                let set = try await installation.sluice("network", "set", receiver.origin, "--max-rate", "100kB")
                #expect(set.code == 0, "\(set.errors)")
                try await until("the rate") { await subscriber.received.last.map(isLimited) ?? false }
                let before = try #require(await subscriber.epochs.last)
                coordinator.signal(SIGKILL)
                _ = await coordinator.end
                _ = try await installation.coordinator()
                try await until("three messages of the other coordinator") {
                    await subscriber.epochs.count { $0 > before } >= 3
                }
                let words = zip(await subscriber.epochs, await subscriber.received).filter { $0.0 > before }
                #expect(words.allSatisfy { isLimited($0.1) }, "\(words.map { $0.1.paces })")
                await subscriber.close()
            }
        }

        @Test(.enabled(if: runsSlowTests, "slow"))
        func `low QoS falls to a safe rate while the coordinator is silent, and recovers afterwards`()
            async throws
        {
            try await Installation.with { installation in
                let receiver = try await installation.receiver(hashes: false)
                receiver.on("/low", .slow(bytesPerSecond: 2_000_000))
                let file = try installation.directory.file("zeros", [])
                #expect(truncate(file, 100_000_000) == 0)
                let coordinator = try await installation.coordinator()
                let worker = try await installation.worker()
                _ = try await installation.sluice(
                    "put", file, "--to", "\(receiver.origin)/low", "--protocol", "put", "--qos", "background")
                func received() -> Int { receiver.requests(to: "/low").last?.bytes ?? 0 }
                try await until("the first bytes") { received() > 100_000 }
                coordinator.signal(SIGSTOP)
                let stopped = Timestamp.now
                let silence = try await awaited("its message") {
                    installation.logged(
                        "The coordinator is silent; this worker claims nothing new until it is back.", by: worker)
                }
                // Five seconds after the last message, which came within the second before.
                #expect((.seconds(3.9)...(.seconds(8))).contains(silence - stopped), "\(silence - stopped)")
                // Without the safe rate 10 kB took 5 ms.
                try await until("the safe rate") {
                    let (before, since) = (received(), ContinuousClock.now)
                    try await until("10 kB more") { received() >= before + 10_000 }
                    return (ContinuousClock.now - since).seconds >= 0.2
                }
                coordinator.signal(SIGCONT)
                try await until("its own rate") {
                    let (before, since) = (received(), ContinuousClock.now)
                    try await until("500 kB more") { received() >= before + 500_000 }
                    return (ContinuousClock.now - since).seconds < 2
                }
            }
        }
    }
}

/// A subscriber to `control.sock`, like a worker.
private actor ControlSubscriber {
    private let loop: PollLoop
    private let socket: Socket
    /// The received messages with their sequence numbers.
    private(set) var received: [ControlState] = []
    private(set) var sequences: [Int64] = []
    /// The epochs of the coordinators that sent them.
    private(set) var epochs: [Int64] = []

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private init(loop: PollLoop, context: Context, run: String) throws {
        self.loop = loop
        socket = try Socket(.subscribe, context: context, loop: loop)
        try socket.subscribe()
        try socket.connect(.ipc(path: "\(run)/control.sock"))
    }

    static func listening(in run: String) async throws -> ControlSubscriber {
        let context = try Context()
        let loop = try PollLoop(name: "control-subscriber")
        let subscriber = try await loop.run {
            Result { try ControlSubscriber(loop: loop, context: context, run: run) }
        }.get()
        await subscriber.start()
        return subscriber
    }

    private func start() {
        loop.whenReadable(socket) { [weak self] in self?.assumeIsolated { $0.receive() } }
    }

    private func receive() {
        while let frame = try? socket.receive({ bytes in
            Result { () throws(WireError) in try Message.decode(bytes) }
        }) {
            guard case .success((let head, .control(let state))) = frame else { continue }
            received.append(state)
            sequences.append(head.sequence)
            epochs.append(head.epoch)
        }
    }

    nonisolated func close() async {
        loop.stop()
        await loop.stopped()
    }
}
