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
            guard getentropy(buffer.baseAddress!, 256) != 0 else { return count = 32 }
            // Before the kernel has its entropy; Swift's own generator waits for it.
            var system = SystemRandomNumberGenerator()
            for index in 0..<32 { buffer.initializeElement(at: index, to: system.next()) }
            count = 32
        }
    }
}
