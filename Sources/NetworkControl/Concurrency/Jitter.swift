/// Random numbers that spread probes in time (SplitMix64), repeatable from a seed.
package struct Jitter: Sendable {
    private var state: UInt64

    package init(seed: UInt64) { state = seed }

    /// A number in 0..<1.
    package mutating func chance() -> Double {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return Double((mixed ^ (mixed >> 31)) >> 11) / 9_007_199_254_740_992
    }
}
