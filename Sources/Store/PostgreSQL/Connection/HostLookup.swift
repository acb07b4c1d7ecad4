internal import Host
internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// Finds the addresses of a host within a deadline. getaddrinfo(3), which libpq would call, waits as long as the resolver
/// does: 5 s for each name server that is away, twice.
enum HostLookup {
    struct Failure: Error {
        /// Without a full stop.
        var reason: String
    }

    /// - Parameter host: a name, or an address without brackets.
    /// - Returns: numeric addresses in the order of preference (RFC 6724), each once.
    static func addresses(of host: String, until deadline: MonotonicTime) -> Result<[String], Failure> {
        if let addresses = try? resolve(host, AI_NUMERICHOST) { return .success(addresses) }
        final class Answer: Sendable {
            let result = Mutex<Result<[String], Failure>?>(nil)
            let isThere = MonotonicSemaphore(value: 0)
        }
        let answer = Answer()
        // The thread outlives a passed deadline, and ends with the resolver's answer.
        startThread(named: "name lookup") {
            let result = Result { () throws(Failure) in try resolve(host, 0) }
            answer.result.withLock { $0 = result }
            answer.isThere.signal()
        }
        guard answer.isThere.wait(until: deadline), let result = answer.result.withLock({ $0 }) else {
            return .failure(Failure(reason: "the name was not resolved in time"))
        }
        return result
    }

    private static func resolve(_ host: String, _ flags: CInt) throws(Failure) -> [String] {
        var hints = addrinfo()
        hints.ai_socktype = CInt(SOCK_STREAM.rawValue)
        hints.ai_flags = flags
        var list: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(host, nil, &hints, &list)
        guard code == 0 else { throw Failure(reason: String(cString: gai_strerror(code))) }
        defer { freeaddrinfo(list) }
        var addresses: [String] = []
        var entry = list
        while let info = entry?.pointee {
            entry = info.ai_next
            var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
            guard
                getnameinfo(
                    info.ai_addr, info.ai_addrlen, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST) == 0
            else { continue }
            let address = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            if !addresses.contains(address) { addresses.append(address) }
        }
        return addresses
    }
}
