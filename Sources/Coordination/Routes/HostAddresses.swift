internal import Glibc
internal import Host
internal import Store
internal import Synchronization

/// Addresses of host names, looked up on a thread: a look-up takes many seconds while the name server does
/// not answer.
package final class HostAddresses: Sendable {
    /// Returns the addresses of a name; empty where the look-up fails.
    package typealias LookUp = @Sendable (String) -> [IPAddress]

    private struct State {
        var pending: Set<String> = []
        var answers: [String: [IPAddress]] = [:]
    }

    private let state = Mutex(State())
    private let pool = BlockingPool(named: "sluice-names", maxThreads: 1)
    private let lookUp: LookUp
    private let wake: @Sendable () -> Void

    /// - Parameter wake: called on the other thread when there is an answer.
    package init(lookUp: @escaping LookUp = system, wake: @escaping @Sendable () -> Void) {
        self.lookUp = lookUp
        self.wake = wake
    }

    /// Looks a name up, unless that is under way.
    package func want(_ name: String) {
        guard state.withLock({ $0.pending.insert(name).inserted }) else { return }
        pool.perform { [weak self, lookUp] in
            let addresses = lookUp(name)
            self?.answer(name, addresses)
        }
    }

    /// Answers since the last call.
    package func takeAnswers() -> [String: [IPAddress]] {
        state.withLock { state in
            defer { state.answers = [:] }
            return state.answers
        }
    }

    private func answer(_ name: String, _ addresses: [IPAddress]) {
        state.withLock { state in
            state.pending.remove(name)
            state.answers[name] = addresses
        }
        wake()
    }

    /// getaddrinfo(3).
    package static let system: LookUp = { name in
        var hints = addrinfo()
        hints.ai_socktype = CInt(SOCK_STREAM.rawValue)
        var first: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(name, nil, &hints, &first) == 0 else { return [] }
        defer { freeaddrinfo(first) }
        return sequence(first: first) { $0?.pointee.ai_next }.compactMap { entry in
            guard let info = entry?.pointee, let address = info.ai_addr else { return nil }
            let bytes = UnsafeRawBufferPointer(start: address, count: Int(info.ai_addrlen))
            // Behind family and port; of IPv6 behind the flow too.
            switch info.ai_family {
            case AF_INET where bytes.count >= 8: return IPAddress(bytes: bytes[4..<8])
            case AF_INET6 where bytes.count >= 24: return IPAddress(bytes: bytes[8..<24])
            default: return nil
            }
        }
    }
}

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
