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
                let ear = try await ControlEar.listening(in: "\(installation.data)/run")
                let paused = ControlState.Pause(
                    group: Offers.group(of: Destination(scheme: "http", host: "a", port: 80)), qualities: 0x1F)
                _ = try await installation.sluice("pause", "--destination", "http://a")
                try await until("three of its messages") { await ear.heard.suffix(3).allSatisfy { $0.pauses == [paused] } }
                // The message is repeated without a change.
                let (count, since) = (await ear.heard.count, ContinuousClock.now)
                try await until("three more") { await ear.heard.count >= count + 3 }
                #expect(ContinuousClock.now - since < .seconds(5))
                #expect(await ear.heard.suffix(3).allSatisfy { $0.pauses == [paused] })
                #expect(await ear.heard.last?.registered.count == 1)
                _ = try await installation.sluice("resume", "--destination", "http://a")
                try await until("its end") { await ear.heard.last?.pauses.isEmpty == true }
                let sequences = await ear.sequences
                #expect(sequences == sequences.sorted() && Set(sequences).count == sequences.count)
                await ear.close()
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
                let ear = try await ControlEar.listening(in: "\(installation.data)/run")
                func isLimited(_ state: ControlState) -> Bool {
                    QualityOfService.allCases.allSatisfy { qos in
                        state.paces.contains { $0.qos == qos && $0.bytesPerSecond <= 100_000 }
                    }
                }
                let set = try await installation.sluice("network", "set", receiver.origin, "--max-rate", "100kB")
                #expect(set.code == 0, "\(set.errors)")
                try await until("the rate") { await ear.heard.last.map(isLimited) ?? false }
                let before = try #require(await ear.incarnations.last)
                coordinator.signal(SIGKILL)
                _ = await coordinator.end
                _ = try await installation.coordinator()
                try await until("three messages of the other coordinator") {
                    await ear.incarnations.count { $0 > before } >= 3
                }
                let words = zip(await ear.incarnations, await ear.heard).filter { $0.0 > before }
                #expect(words.allSatisfy { isLimited($0.1) }, "\(words.map { $0.1.paces })")
                await ear.close()
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
                        "The coordinator is silent; nothing new is claimed until it is back.", by: worker)
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
private actor ControlEar {
    private let loop: PollLoop
    private let socket: Socket
    /// The received messages with their sequence numbers.
    private(set) var heard: [ControlState] = []
    private(set) var sequences: [Int64] = []
    /// The epochs of the coordinators that sent them.
    private(set) var incarnations: [Int64] = []

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private init(loop: PollLoop, context: Context, run: String) throws {
        self.loop = loop
        socket = try Socket(.subscribe, context: context, loop: loop)
        try socket.subscribe()
        try socket.connect(.ipc(path: "\(run)/control.sock"))
    }

    static func listening(in run: String) async throws -> ControlEar {
        let context = try Context()
        let loop = try PollLoop(name: "control-ear")
        let ear = try await loop.run {
            Result { try ControlEar(loop: loop, context: context, run: run) }
        }.get()
        await ear.start()
        return ear
    }

    private func start() {
        loop.whenReadable(socket) { [weak self] in self?.assumeIsolated { $0.receive() } }
    }

    private func receive() {
        while let frame = try? socket.receive({ bytes in
            Result { () throws(WireError) in try Message.decode(bytes) }
        }) {
            guard case .success((let head, .control(let state))) = frame else { continue }
            heard.append(state)
            sequences.append(head.sequence)
            incarnations.append(head.epoch)
        }
    }

    nonisolated func close() async {
        loop.stop()
        await loop.stopped()
    }
}
