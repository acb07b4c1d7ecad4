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
