package import Commands

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// Random numbers that a seed reproduces (SplitMix64). A test prints ``seed``, and `SLUICE_SEED` replays it.
package struct SeededRandom: RandomNumberGenerator, Sendable {
    package let seed: UInt64
    private var state: UInt64

    package init(seed: UInt64) {
        self.seed = seed
        state = seed
    }

    /// Makes a generator, and prints its seed with the name of the test. The seed follows from the name, so that a run does
    /// not depend on luck. `SLUICE_SEED` is another seed, or `random` for a new one in each run.
    package static func announced(_ test: String) -> SeededRandom {
        let given = getenv("SLUICE_SEED").map { String(cString: $0) }
        let new = given == "random" ? UInt64.random(in: 0...UInt64(Int64.max)) : nil
        let random = SeededRandom(seed: given.flatMap { UInt64($0) } ?? new ?? seed(of: test))
        print("\(test): SLUICE_SEED=\(random.seed) replays this run")
        return random
    }

    /// FNV-1a, without the highest bit.
    private static func seed(of name: String) -> UInt64 {
        name.utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 } & UInt64(Int64.max)
    }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    package mutating func number(in range: Range<Int>) -> Int { Int.random(in: range, using: &self) }
    /// A number from 0 to below 1.
    package mutating func fraction() -> Double { Double.random(in: 0..<1, using: &self) }
    package mutating func chance(_ probability: Double) -> Bool { fraction() < probability }
    package mutating func bytes(_ count: Int) -> [UInt8] {
        (0..<count).map { _ in UInt8.random(in: 0...255, using: &self) }
    }
    package mutating func id() -> CommandID { CommandID(high: next(), low: next()) }
}

/// Random bytes, the same at every call.
package func sample(_ count: Int, seed: UInt64? = nil) -> [UInt8] {
    var random = SeededRandom(seed: seed ?? UInt64(count))
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count + 8)
    while bytes.count < count { withUnsafeBytes(of: random.next()) { bytes.append(contentsOf: $0) } }
    bytes.removeSubrange(count...)
    return bytes
}
