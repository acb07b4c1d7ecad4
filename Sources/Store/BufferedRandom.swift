#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// The system's random numbers, 32 for each system call: one call for each would cost more than the id it is for.
struct BufferedRandom: RandomNumberGenerator {
    private var words: [UInt64] = []

    mutating func next() -> UInt64 {
        if words.isEmpty { refill() }
        return words.removeLast()
    }

    private mutating func refill() {
        words = [UInt64](unsafeUninitializedCapacity: 32) { buffer, count in
            count = 32
            if let start = buffer.baseAddress, getentropy(start, 256) == 0 { return }
            // A kernel without getentropy: Swift's own generator knows another way.
            var system = SystemRandomNumberGenerator()
            for index in 0..<32 { buffer.initializeElement(at: index, to: system.next()) }
        }
    }
}
