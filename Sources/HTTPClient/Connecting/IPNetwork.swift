internal import Glibc

/// An address, or a network in CIDR form.
struct IPNetwork: Sendable, Equatable {
    private var bytes: [UInt8]
    private var prefix: Int

    /// - Returns: nil where the text is neither.
    init?(_ text: String) {
        let parts = text.utf8.split(separator: UInt8(ascii: "/"), maxSplits: 1, omittingEmptySubsequences: false)
        guard let address = parts.first.map({ String(Substring($0)) }) else { return nil }
        var storage = [UInt8](repeating: 0, count: 16)
        if inet_pton(AF_INET, address, &storage) == 1 {
            bytes = Array(storage.prefix(4))
        } else if inet_pton(AF_INET6, address, &storage) == 1 {
            bytes = storage
        } else {
            return nil
        }
        prefix = bytes.count * 8
        if parts.count == 2 {
            guard let bits = Int(Substring(parts[1])), (0...prefix).contains(bits) else { return nil }
            prefix = bits
        }
    }

    func contains(_ address: IPNetwork) -> Bool {
        guard bytes.count == address.bytes.count else { return false }
        for bit in 0..<prefix {
            let mask: UInt8 = 0x80 >> UInt8(bit % 8)
            if (bytes[bit / 8] ^ address.bytes[bit / 8]) & mask != 0 { return false }
        }
        return true
    }
}
