internal import NIOCore
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

/// Allocates the receive buffers of one connection: large ones only while a body arrives.
final class ReceiveBuffers: RecvByteBufferAllocator {
    private enum Phase {
        case head, body, idle

        var counts: (active: Int, idle: Int) {
            switch self {
            case .head: (0, 0)
            case .body: (1, 0)
            case .idle: (0, 1)
            }
        }
    }

    private let budget: ReceiveBudget
    private let phase = Mutex(Phase.head)

    init(_ budget: ReceiveBudget) { self.budget = budget }

    deinit {
        let counts = phase.withLock { $0.counts }
        budget.add(active: -counts.active, idle: -counts.idle)
    }

    func setReadingBody(_ isReading: Bool) {
        phase.withLock { phase in
            let next: Phase = isReading ? .body : (phase == .head ? .head : .idle)
            let (old, new) = (phase.counts, next.counts)
            budget.add(active: new.active - old.active, idle: new.idle - old.idle)
            phase = next
        }
    }

    private var size: Int {
        phase.withLock { $0 == .body } ? budget.bodySize : ReceiveBudget.headSize
    }

    func buffer(allocator: ByteBufferAllocator) -> ByteBuffer { allocator.buffer(capacity: size) }
    func nextBufferSize() -> Int? { size }
    func record(actualReadBytes: Int) -> Bool { false }
}
