internal import NIOCore
internal import Synchronization

/// Counts connections, and decides about each new one.
final class ConnectionLimit: Sendable {
    enum Admission {
        case admitted
        /// One of the last: it serves only requests by which an operator sees the state of the door.
        case reserve
        /// It gets 503.
        case refused
        /// It is closed at once: enough others are being told already.
        case dropped
    }

    /// Connections that are being told 503. They have a part of ``DescriptorBudget/reserve(cores:)``.
    private static let maxRefused = 64

    /// - Returns: how many of the last connections serve only essential endpoints: 8, and none where there are few.
    static func reserved(of max: Int) -> Int { min(8, max / 8) }

    private struct State {
        var admitted = 0
        var refused = 0
    }

    private let max: Int
    private let statistics: DoorStatistics
    private let state = Mutex(State())

    init(max: Int, statistics: DoorStatistics) {
        self.max = max
        self.statistics = statistics
    }

    /// Counts the connection until its channel closes.
    func admit(_ channel: any Channel) -> Admission {
        let admission: Admission = state.withLock { state in
            if state.admitted < max {
                state.admitted += 1
                return state.admitted > max - Self.reserved(of: max) ? .reserve : .admitted
            }
            guard state.refused < Self.maxRefused else { return .dropped }
            state.refused += 1
            return .refused
        }
        switch admission {
        case .admitted, .reserve:
            statistics.connections.wrappingAdd(1, ordering: .relaxed)
            channel.closeFuture.whenComplete { [self] _ in
                state.withLock { $0.admitted -= 1 }
                statistics.connections.wrappingSubtract(1, ordering: .relaxed)
            }
        case .refused:
            statistics.refusedConnections.wrappingAdd(1, ordering: .relaxed)
            channel.closeFuture.whenComplete { [self] _ in state.withLock { $0.refused -= 1 } }
        case .dropped: statistics.refusedConnections.wrappingAdd(1, ordering: .relaxed)
        }
        return admission
    }
}
