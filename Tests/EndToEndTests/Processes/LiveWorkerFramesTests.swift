import Commands
import Glibc
import Host
import Store
import TestSupport
import Testing
import Wire
import ZeroMQ

extension EndToEndTests {
    /// A real coordinator that is sent frames in the name of its living worker. The frames themselves vary in the tests of
    /// Coordination, which need no processes.
    @Suite(.enabled(if: runsSlowTests, "slow")) struct LiveWorkerFramesTests {
        /// `SLUICE_FUZZ_FRAMES` sets another number; the long form has 100,000. `SLUICE_SEED` repeats a run.
        private static let frames = getenv("SLUICE_FUZZ_FRAMES").flatMap { Int(String(cString: $0)) } ?? 5000

        @Test func `frames of every type in the name of a live worker end no process`() async throws {
            try await Installation.with { installation in
                _ = try await installation.up()
                let store = try installation.store()
                let session = try #require(try store.sessions().first)
                let before = try await installation.status()?["coordinator"]?["pid"]?.integer
                let sender = try await FrameSender.started(in: "\(installation.data)/run", as: session)
                // The report that ended the coordinator.
                var state = WorkerState()
                try await sender.send(.commitTime(CommitTime(.microseconds(3_599_999_999))))
                for completed in [0, Int64.max, 0, .max] {
                    state.completed = completed
                    try await sender.send(.state(state))
                    // The rate is measured over 50 ms at least, in which a command is submitted and executed.
                    let id = try #require(try await installation.sluice("submit", "noop").ids.first)
                    try await installation.await(id, .success, in: store)
                }
                var random = SeededRandom.announced("frames of a live worker")
                for _ in 0..<Self.frames / 10 {
                    for message in Samples.all(&random) { try await sender.send(message) }
                }
                let id = try #require(try await installation.sluice("submit", "noop").ids.first)
                try await installation.await(id, .success, in: store)
                #expect(try await installation.status()?["coordinator"]?["pid"]?.integer == before)
                #expect(try store.sessions().first == session)
                await sender.close()
            }
        }
    }
}

/// Sends frames as a worker, and hints as a producer.
private actor FrameSender {
    private let loop: PollLoop
    private let context: Context
    private let reports: Socket
    private let intake: Socket
    private let session: Session
    private var sequence: Int64 = 0

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private init(loop: PollLoop, run: String, session: Session) throws {
        self.loop = loop
        self.session = session
        context = try Context()
        var options = Socket.Options()
        options.sendHighWaterMark = 0
        reports = try Socket(.publish, context: context, loop: loop, options: options)
        try reports.connect(.ipc(path: "\(run)/reports.sock"))
        intake = try Socket(.push, context: context, loop: loop, options: options)
        try intake.connect(.ipc(path: "\(run)/intake.sock"))
    }

    static func started(in run: String, as session: Session) async throws -> FrameSender {
        let loop = try PollLoop(name: "frames")
        return try await loop.run { Result { try FrameSender(loop: loop, run: run, session: session) } }.get()
    }

    func send(_ message: Message) throws {
        sequence += 1
        let frame = message.encoded(FrameHead(seat: session.seat, epoch: session.epoch, sequence: sequence))
        switch message {
        case .hint, .submitted: _ = try intake.send(frame)
        default: _ = try reports.send(frame)
        }
    }

    nonisolated func close() async {
        loop.stop()
        await loop.stopped()
    }
}
