/// A hash that is the same in every process: FNV-1a of 64 bits. It is not for secrets or against intent.
package enum StableHash {
    package static let start: UInt64 = 0xCBF2_9CE4_8422_2325

    package static func of(_ bytes: some Sequence<UInt8>) -> UInt64 { adding(bytes, to: start) }

    package static func adding(_ bytes: some Sequence<UInt8>, to hash: UInt64) -> UInt64 {
        var hash = hash
        for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
        return hash
    }
}
