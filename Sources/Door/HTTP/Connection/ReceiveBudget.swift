internal import Synchronization

/// The size of receive buffers: together they stay within a budget, however many bodies arrive at once.
final class ReceiveBudget: Sendable {
    /// Bytes for all connections.
    static let total = 10 << 20
    /// Parts that wait between a socket and its handler.
    static let partsPerConnection = 4
    static let bodySizes = (8 << 10)...(256 << 10)
    static let headSize = 4 << 10

    /// Connections whose body arrives.
    private let active = Atomic<Int>(0)
    /// Connections that have had a body: NIO keeps their last buffer.
    private let idle = Atomic<Int>(0)

    func add(active change: Int, idle idleChange: Int) {
        active.wrappingAdd(change, ordering: .relaxed)
        idle.wrappingAdd(idleChange, ordering: .relaxed)
    }

    var bodySize: Int {
        Self.bodySize(active: active.load(ordering: .relaxed), idle: idle.load(ordering: .relaxed))
    }

    static func bodySize(active: Int, idle: Int) -> Int {
        let share = total / partsPerConnection / max(1, active + idle / 2)
        return min(max(share, bodySizes.lowerBound), bodySizes.upperBound)
    }
}
