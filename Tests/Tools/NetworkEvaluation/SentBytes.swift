import Host
import TestSupport

/// The bytes that flows of a kind have sent.
struct SentBytes {
    var flows: [ByteSteps]

    func bytes(from start: MonotonicTime, to end: MonotonicTime) -> Double {
        Double(flows.reduce(0) { $0 + $1.bytes(from: start, to: end) })
    }
}
