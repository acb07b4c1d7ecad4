import Commands
import Host
import NetworkControl
import Store
import Testing
import Wire

@testable import Coordination

/// Commands, a dispatcher with some seats, and what workers report to it.
protocol DispatcherFixtures {}

extension DispatcherFixtures {
    var host: Destination { Destination(scheme: "http", host: "a", port: 80) }
    var at: Timestamp { Timestamp(milliseconds: 1_000_000) }

    func ready(
        _ number: Int64, _ qos: QualityOfService = .default, to destination: Destination = .none, type: String = "noop",
        shard: UInt8 = 0, suspect: Bool = false, age: Int64 = 0
    ) -> ReadyCommand {
        var command = ReadyCommand(
            id: CommandID(high: UInt64(number), low: UInt64(shard)), type: type, qos: qos, destination: destination,
            turn: number, createdAt: Timestamp(milliseconds: at.milliseconds - age + number))
        command.suspect = suspect
        return command
    }

    /// A command that the worker in seat 0 is sending.
    func claimed(_ command: ReadyCommand) -> ClaimedCommand {
        var row = Command(id: command.id, type: "noop", destination: .none, createdAt: at)
        row.status = .sent
        row.seat = 0
        row.claim = 1
        return ClaimedCommand(row, epoch: 1)
    }

    func dispatcher(
        seats: Int = 1, concurrency: Int = 4, types: [String] = ["noop"], links: LinkAdmission = LinkAdmission()
    ) -> Dispatcher {
        var dispatcher = Dispatcher(shardCount: 8, links: links)
        for seat in 0..<seats {
            let hello = Hello(
                pid: 1, startTime: 1, bootID: "b", concurrency: concurrency, types: types,
                executing: [])
            dispatcher.workerJoined(WorkerRecord(seat: seat, epoch: Int64(seat) + 1, hello: hello))
        }
        return dispatcher
    }

    func numbers(_ dispatches: [Dispatcher.Dispatch]) -> [UInt64] {
        dispatches.flatMap { $0.offers.offers.map(\.id.high) }
    }

    func report(
        _ command: ReadyCommand, _ status: CommandStatus, fault: CommandFailure.Fault? = nil, reason: String? = nil
    ) -> StatusReport {
        var transition = Transition(
            seq: 1, id: command.id, status: status, at: at, claim: 1, reason: reason)
        transition.seat = 0
        return StatusReport(
            event: StatusEvent(
                transition: transition,
                type: command.type, qos: command.qos, destination: command.destination, retries: 0, shard: 0),
            fault: fault)
    }
}

/// Evaluates a mutating call before the expectation takes it apart.
func value<Value>(_ value: Value) -> Value { value }

extension Dispatcher {
    /// The next probe of a destination.
    func nextProbe(of destination: Destination) -> MonotonicTime? { links.nextProbe(of: destination) }
    mutating func insert(_ commands: [ReadyCommand]) { insert(commands, now: .zero) }
    mutating func found(_ keys: Set<ReadyKey>, shard: Int) { found(keys, shard: shard, now: .zero) }
    mutating func refilled(_ refill: ReadyRead, _ commands: [ReadyCommand]) {
        refilled(refill, commands, now: .zero)
    }
}
