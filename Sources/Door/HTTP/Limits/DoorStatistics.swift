package import Synchronization

/// Counts of a ``DoorServer``, for its metrics.
package final class DoorStatistics: Sendable {
    /// Connections that are open now.
    package let connections = Atomic<Int>(0)
    /// Requests that are being handled now.
    package let activeRequests = Atomic<Int>(0)
    /// Bytes of ``BodyMemory`` that requests take now.
    package let bodyBytes = Atomic<Int>(0)
    /// Requests that found ``BodyMemory`` used up.
    package let refusedBodies = Atomic<Int>(0)
    /// Whether the server accepts no more connections, because it ends.
    package let isDraining = Atomic<Bool>(false)
    private let refused = Mutex<[String: Int]>([:])
    private let refusedConnectionCounts = Mutex<[String: Int]>([:])
    private let closed = Mutex<[String: Int]>([:])
    private let submitted = Mutex<[String: Int]>([:])

    /// Types with counts of their own.
    private static let maxTypes = 50

    package init() {}

    /// Requests that were refused before any endpoint, by the type of their problem.
    package var badRequests: [String: Int] { refused.withLock { $0 } }

    /// The reasons of ``refusedConnections``.
    package static let refusalReasons = ConnectionLimit.Refusal.allCases.map(\.rawValue)

    /// Connections that were refused: beyond the maximum of `all` clients, or of an `address`.
    package var refusedConnections: [String: Int] { refusedConnectionCounts.withLock { $0 } }

    /// The reasons of ``expired``.
    package static let expiryReasons = ConnectionClock.Expiry.allCases.map(\.rawValue)

    /// Connections that were closed for the client's slowness, by reason.
    package var expired: [String: Int] { closed.withLock { $0 } }

    /// Commands that requests of the API have submitted, by type; those of further types as `other`. The nodes of a flow
    /// are not counted, but the flow is.
    package var submittedCommands: [String: Int] { submitted.withLock { $0 } }

    /// A request of the API has submitted a command that did not exist before.
    package func countSubmitted(_ type: String) {
        submitted.withLock { counts in
            let name = counts[type] != nil || counts.count < Self.maxTypes ? type : "other"
            counts[name, default: 0] += 1
        }
    }

    func countRefusedConnection(_ reason: String) { refusedConnectionCounts.withLock { $0[reason, default: 0] += 1 } }

    func countBadRequest(_ type: String) { refused.withLock { $0[type, default: 0] += 1 } }

    func countExpired(_ reason: String) { closed.withLock { $0[reason, default: 0] += 1 } }
}
