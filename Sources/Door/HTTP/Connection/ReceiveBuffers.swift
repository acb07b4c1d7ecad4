internal import NIOCore
internal import Synchronization

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
