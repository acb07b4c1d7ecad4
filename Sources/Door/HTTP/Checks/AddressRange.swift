internal import Glibc

/// An IP address, or a network in CIDR form. An IPv4 address that is mapped into IPv6 counts as itself.
package struct AddressRange: Sendable, Hashable {
    private let bytes: [UInt8]
    private let prefix: Int

    /// - Returns: nil where the text is neither.
    package init?(_ text: some StringProtocol) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let address = parts.first.map({ String($0) }) else { return nil }
        var storage = [UInt8](repeating: 0, count: 16)
        if inet_pton(AF_INET, address, &storage) == 1 {
            storage.removeLast(12)
        } else if inet_pton(AF_INET6, address, &storage) != 1 {
            return nil
        } else if storage.prefix(12) == [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF], parts.count == 1 {
            storage.removeFirst(12)
        }
        bytes = storage
        if parts.count == 2 {
            guard let bits = Int(parts[1]), (0...storage.count * 8).contains(bits) else { return nil }
            prefix = bits
        } else {
            prefix = storage.count * 8
        }
    }

    package func contains(_ address: AddressRange) -> Bool {
        guard bytes.count == address.bytes.count, prefix <= address.prefix else { return false }
        return (0..<prefix).allSatisfy { bit in
            (bytes[bit / 8] ^ address.bytes[bit / 8]) & (0x80 >> UInt8(bit % 8)) == 0
        }
    }
}
