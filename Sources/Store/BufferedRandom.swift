#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// The random numbers of the system, 32 with each system call: a call for each number would cost more than
/// the id that needs it.
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
            // A kernel without getentropy(3): the generator of the standard library knows another way.
            var system = SystemRandomNumberGenerator()
            for index in 0..<32 { buffer.initializeElement(at: index, to: system.next()) }
        }
    }
}
