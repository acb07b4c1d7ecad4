internal import Glibc

/// An address of either family, as a left-aligned number, so that comparing prefixes is one shift.
package struct IPAddress: Hashable, Sendable {
    package let isV6: Bool
    /// Network order; the 32 bits of IPv4 are the highest.
    let bits: UInt128

    /// Nil unless there are 4 or 16 bytes. An IPv4 address that is mapped into IPv6 becomes an IPv4 address.
    package init?(bytes: some Collection<UInt8>) {
        switch bytes.count {
        case 4:
            isV6 = false
            bits = bytes.reduce(0) { $0 << 8 | UInt128($1) } << 96
        case 16:
            let value = bytes.reduce(0 as UInt128) { $0 << 8 | UInt128($1) }
            let isMapped = value >> 32 == 0xFFFF
            isV6 = !isMapped
            bits = isMapped ? value << 96 : value
        default: return nil
        }
    }

    /// Reads `192.0.2.1`, `2001:db8::1` or `[2001:db8::1]`; nil for a name.
    package init?(_ text: some StringProtocol) {
        var text = String(text)
        if text.hasPrefix("["), text.hasSuffix("]") { text = String(text.dropFirst().dropLast()) }
        var bytes = [UInt8](repeating: 0, count: 16)
        if inet_pton(AF_INET, text, &bytes) == 1 {
            self.init(bytes: bytes.prefix(4))
        } else if inet_pton(AF_INET6, text, &bytes) == 1 {
            self.init(bytes: bytes)
        } else {
            return nil
        }
    }

    package var isLoopback: Bool { isV6 ? bits == 1 : bits >> 120 == 127 }

    /// Whether the first `length` bits agree.
    func matches(_ prefix: IPAddress, length: Int) -> Bool {
        isV6 == prefix.isV6 && (length <= 0 || (bits ^ prefix.bits) >> UInt128(128 - min(length, 128)) == 0)
    }
}

extension IPAddress: CustomStringConvertible {
    package var description: String {
        var text = [CChar](repeating: 0, count: 64)
        var bytes = (0..<16).map { UInt8(truncatingIfNeeded: bits >> UInt128(120 - 8 * $0)) }
        _ = inet_ntop(isV6 ? AF_INET6 : AF_INET, &bytes, &text, socklen_t(text.count))
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
