import Glibc

/// A test switch that loses messages, to show that every message is only a hint.
///
/// Off unless the environment has `SLUICE_TEST_DROP=p:seed` when a `Context` is made: each message that a
/// socket sends is then dropped with probability `p` (0…1), and the sender is told that it was sent. The same
/// seed and order of sockets lose the same messages in every process, so give each process a seed of its own.
package struct FaultInjection: Sendable, Equatable {
    package static let variable = "SLUICE_TEST_DROP"

    package let probability: Double
    package let seed: UInt64

    package init(probability: Double, seed: UInt64) {
        self.probability = probability
        self.seed = seed
    }

    /// Reads `p:seed`, for example `0.05:42`.
    package init(parsing text: String) throws(ZeroMQError) {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let probability = Double(parts[0]), (0...1).contains(probability),
            let seed = UInt64(parts[1])
        else {
            throw ZeroMQError(
                .invalid, "\(Self.variable) must be probability:seed, for example 0.05:42, and is \(text)")
        }
        self.init(probability: probability, seed: seed)
    }

    static func fromEnvironment() throws(ZeroMQError) -> FaultInjection? {
        guard let text = getenv(variable) else { return nil }
        return try FaultInjection(parsing: String(cString: text))
    }

    /// The dice of the `ordinal`th socket of this process.
    func dice(ordinal: Int) -> Dice {
        Dice(
            threshold: probability >= 1 ? .max : UInt64(probability * 0x1p64),
            state: seed ^ UInt64(ordinal) << 32)
    }

    /// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
    struct Dice: Sendable {
        let threshold: UInt64
        var state: UInt64

        mutating func drops() -> Bool {
            state &+= 0x9E37_79B9_7F4A_7C15
            var mixed = state
            mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
            return mixed ^ (mixed >> 31) < threshold
        }
    }
}
