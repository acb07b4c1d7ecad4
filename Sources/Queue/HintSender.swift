package import Commands
package import Membership
internal import Store
internal import Synchronization
package import Wire
package import ZeroMQ

/// Sends hints to the coordinator, which then reads commands from the store earlier than at its next sweep.
/// Confined to the loop that it was made on.
///
/// A hint may be lost. Sending never blocks, and costs nothing without a coordinator.
package struct HintSender: ~Copyable {
    private let socket: Socket
    private var sequence: Int64 = 0

    /// Connects now, or when a coordinator starts. Call it on the loop.
    /// - Parameter linger: how long closing waits for hints to leave.
    package init(
        _ endpoints: any OpenEndpoints, loop: PollLoop, linger: Duration = .milliseconds(100)
    ) throws(ZeroMQError) {
        var options = Socket.Options()
        options.linger = linger
        options.reconnectInterval = .milliseconds(20)
        socket = try endpoints.connect(.push, to: .intake, options: options, on: loop)
    }

    /// Sends, or drops the message where a thousand others wait for the coordinator.
    package mutating func send(_ message: Message) {
        sequence += 1
        let frame = message.encoded(FrameHead(epoch: 0, sequence: sequence))
        // The coordinator's sweep finds the commands of a hint that cannot be sent.
        _ = try? socket.send(frame)
    }

    /// Sends one hint for each ``Hint/maxCount`` ids.
    package mutating func send(_ kind: Hint.Kind, _ ids: [CommandID]) {
        if ids.count <= Hint.maxCount { return send(.hint(Hint(kind, ids))) }
        for start in stride(from: 0, to: ids.count, by: Hint.maxCount) {
            send(.hint(Hint(kind, Array(ids[start..<min(start + Hint.maxCount, ids.count)]))))
        }
    }

    /// Sends hints from a process without a loop. Returns when they have left, or after 100 ms; at once where
    /// no coordinator runs, and where a socket cannot be made.
    package static func send(_ kind: Hint.Kind, _ ids: [CommandID] = [], through opened: OpenedStore) {
        guard opened.presence.holder(of: .coordinator) != nil, let endpoints = try? opened.endpoints.open(),
            let loop = try? PollLoop(name: "sluice-hint")
        else { return }
        loop.perform {
            guard var sender = try? HintSender(endpoints, loop: loop) else { return }
            sender.send(kind, ids)
        }
        loop.stop()
        loop.join()
        endpoints.close()
    }
}

/// The receiver of a client's hints.
enum HintTarget: Sendable {
    /// The coordinator, by its socket.
    case socket(any OpenEndpoints)
    /// The process of the client. It is called on a thread of the client.
    case process(@Sendable (Hint.Kind, [CommandID]) -> Void)
}

extension Effects {
    /// The commands that a coordinator should hear of: those that were changed, and those whose workers must be told of
    /// a cancellation request.
    func hints(without id: CommandID?) -> (changed: [CommandID], requested: [CommandID]) {
        let changed = events.lazy.map(\.transition.id).filter { $0 != id }.prefix(Hint.maxBulkCount)
        return (Array(changed), requests.lazy.map(\.id).filter { $0 != id })
    }
}

/// Hints about commands that a person has changed one by one, collected so that one socket sends them
/// together.
package final class PendingHints: Sendable {
    private let queue: QueueAccess
    private let pending = Mutex<[(kind: Hint.Kind, id: CommandID)]>([])

    package init(of queue: QueueAccess) { self.queue = queue }

    package func add(_ kind: Hint.Kind, _ id: CommandID) { pending.withLock { $0.append((kind, id)) } }

    /// Sends what was added since the last call, as a verb of the queue does.
    package func send() {
        let hints = pending.withLock { pending in
            defer { pending = [] }
            return pending
        }
        for kind in [Hint.Kind.cancelRequested, .changed, .ready] {
            let ids = hints.filter { $0.kind == kind }.map { $0.id }
            if !ids.isEmpty { queue.hint(kind, ids) }
        }
    }
}
