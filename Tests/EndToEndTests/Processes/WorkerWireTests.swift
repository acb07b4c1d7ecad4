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
    /// A real worker, and a coordinator that the test plays.
    struct WorkerWireTests {
        @Test(.enabled(if: runsSlowTests, "slow"))
        func `a worker reports its transfers four times a second, and applies the newest control message`()
            async throws
        {
            try await Installation.with { installation in
                let receiver = try await installation.receiver()
                receiver.on("/slow", .slow(bytesPerSecond: 300_000))
                let file = try installation.directory.file("zeros", [])
                #expect(truncate(file, 50_000_000) == 0)
                let id = try #require(
                    try await installation.sluice(
                        "put", file, "--to", "\(receiver.origin)/slow", "--protocol", "put"
                    ).ids.first)
                let coordinator = try await FakeCoordinator.started(in: "\(installation.data)/run")
                _ = try installation.start("worker")
                let seat = try await awaited("a worker's hello") { await coordinator.seat }
                #expect(seat.number == 0)

                try await coordinator.register()
                let command = try #require(try installation.store().command(id))
                let group = Offers.group(of: command.destination)
                let offer = Offers.Offer(id: id, type: "upload", qos: .default, suspect: false, group: group, order: 1)
                // The socket of the worker connects a moment after the greeting.
                try await until("room for the offer") { try await coordinator.offer(offer) }
                try await until("four reports of its bytes") { await coordinator.reports(of: id).count >= 4 }

                // Eight reports take about two seconds: one each quarter of a second.
                let since = ContinuousClock.now
                let before = await coordinator.reports(of: id).count
                try await until("eight more") { await coordinator.reports(of: id).count >= before + 8 }
                let took = (ContinuousClock.now - since).seconds
                #expect((1.2...5).contains(took), "\(took) s for eight")

                var paused = ControlState()
                paused.paces = [.init(group: group, direction: .up, qos: .default, bytesPerSecond: 0)]
                try await coordinator.send(paused, sequence: 10)
                try await until("the pause") { await coordinator.reports(of: id).last?.pacing == .paused }
                // An older message without a pause, and one of an earlier coordinator.
                try await coordinator.send(ControlState(), sequence: 9)
                try await coordinator.send(ControlState(), sequence: 90, epoch: FakeCoordinator.epoch - 1)
                let count = await coordinator.reports(of: id).count
                try await until("four more reports") { await coordinator.reports(of: id).count >= count + 4 }
                #expect(await coordinator.reports(of: id).suffix(4).allSatisfy { $0.pacing == .paused })
                try await coordinator.send(ControlState(), sequence: 11)
                try await until("its continuation") { await coordinator.reports(of: id).last?.pacing == .free }
                await coordinator.close()
            }
        }
    }
}

/// Binds the sockets of a coordinator.
private actor FakeCoordinator {
    static let epoch: Int64 = 1000

    private let loop: PollLoop
    private let context: Context
    private let run: String
    private let control: Socket
    private let reports: Socket
    private var offers: PushSocket?
    private(set) var seat: (number: Int, epoch: Int64)?
    private var transfers: [TransferReport] = []

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// Holds a noncopyable socket that is made later.
    private final class PushSocket {
        let socket: Socket
        init(_ socket: consuming Socket) { self.socket = socket }
    }

    private init(loop: PollLoop, context: Context, run: String) throws {
        self.loop = loop
        self.context = context
        self.run = run
        control = try Socket(.publish, context: context, loop: loop)
        try control.bind(.ipc(path: "\(run)/control.sock"))
        reports = try Socket(.subscribe, context: context, loop: loop)
        try reports.subscribe()
        try reports.bind(.ipc(path: "\(run)/reports.sock"))
    }

    static func started(in run: String) async throws -> FakeCoordinator {
        let context = try Context()
        let loop = try PollLoop(name: "fake")
        let fake = try await loop.run { Result { try FakeCoordinator(loop: loop, context: context, run: run) } }
            .get()
        await fake.start()
        return fake
    }

    private func start() {
        loop.whenReadable(reports) { [weak self] in self?.assumeIsolated { $0.receive() } }
    }

    private func receive() {
        while let frame = try? reports.receive({ bytes in
            Result { () throws(WireError) in try Message.decode(bytes) }
        }) {
            guard case .success(let (head, message)) = frame else { continue }
            switch message {
            case .hello: seat = (head.seat, head.epoch)
            case .transfers(let body): transfers.append(body)
            default: break
            }
        }
    }

    /// From now on the test may offer commands to the worker.
    func register() throws {
        guard let seat else { return }
        let socket = try Socket(.push, context: context, loop: loop)
        try socket.bind(.ipc(path: "\(run)/worker-\(seat.number).sock"))
        offers = PushSocket(socket)
        var state = ControlState()
        state.registered = [.init(seat: seat.number, epoch: seat.epoch)]
        try send(state, sequence: 1)
    }

    /// - Returns: whether a worker was connected to take the message.
    func offer(_ offer: Offers.Offer) throws -> Bool {
        let head = FrameHead(seat: seat?.number ?? 0, epoch: Self.epoch, sequence: 1)
        return try offers?.socket.send(Message.offers(Offers(first: 1, offers: [offer])).encoded(head)) ?? false
    }

    func send(_ state: ControlState, sequence: Int64, epoch: Int64 = epoch) throws {
        _ = try control.send(Message.control(state).encoded(FrameHead(epoch: epoch, sequence: sequence)))
    }

    /// The reports of a command, in order.
    func reports(of id: CommandID) -> [TransferReport.Transfer] {
        transfers.compactMap { $0.transfers.first { $0.id == id } }
    }

    nonisolated func close() async {
        loop.stop()
        await loop.stopped()
    }
}
