internal import NIOCore
internal import Synchronization

/// The size of receive buffers: together they stay within a budget, however many bodies arrive at once.
final class ReceiveBudget: Sendable {
    /// Bytes for all connections.
    private static let total = 64 << 20
    /// Parts that wait between a socket and its handler.
    private static let partsPerConnection = 10
    static let sizes = (16 << 10)...(256 << 10)

    private let bodies = Atomic<Int>(0)

    func bodyBegan() { bodies.wrappingAdd(1, ordering: .relaxed) }
    func bodyEnded() { bodies.wrappingSubtract(1, ordering: .relaxed) }

    var bufferSize: Int { Self.bufferSize(bodies: bodies.load(ordering: .relaxed)) }

    static func bufferSize(bodies: Int) -> Int {
        let share = total / partsPerConnection / max(1, bodies)
        return min(max(share, sizes.lowerBound), sizes.upperBound)
    }
}

/// Allocates the receive buffers of one connection: large ones only while a body arrives.
final class ReceiveBuffers: RecvByteBufferAllocator {
    private let budget: ReceiveBudget
    private let isReadingBody = Atomic<Bool>(false)

    init(_ budget: ReceiveBudget) { self.budget = budget }

    deinit { if isReadingBody.load(ordering: .relaxed) { budget.bodyEnded() } }

    func setReadingBody(_ isReading: Bool) {
        let was = isReadingBody.exchange(isReading, ordering: .relaxed)
        guard was != isReading else { return }
        if isReading { budget.bodyBegan() } else { budget.bodyEnded() }
    }

    private var size: Int {
        isReadingBody.load(ordering: .relaxed) ? budget.bufferSize : ReceiveBudget.sizes.lowerBound
    }

    func buffer(allocator: ByteBufferAllocator) -> ByteBuffer { allocator.buffer(capacity: size) }
    func nextBufferSize() -> Int? { size }
    func record(actualReadBytes: Int) -> Bool { false }
}
