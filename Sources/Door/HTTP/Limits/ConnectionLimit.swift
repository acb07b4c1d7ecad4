internal import Commands
internal import NIOCore
internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// Counts connections, and decides about each new one.
final class ConnectionLimit: Sendable {
    enum Admission: Equatable {
        case admitted
        /// One of the last: it serves only requests by which an operator sees the state of the door.
        case reserve
        /// It gets 503.
        case refused(Refusal)
        /// It is closed at once: enough others are being told already.
        case dropped(Refusal)
    }

    /// The raw values are labels of a metric.
    enum Refusal: String, Sendable, CaseIterable {
        /// The door has its maximum.
        case all
        /// The address of the client has its maximum.
        case address
    }

    /// Connections that are being told 503. They have a part of ``DescriptorBudget/reserve(cores:)``.
    private static let maxRefused = 64

    /// - Returns: how many of the last connections serve only essential endpoints: 8, and none where there are few.
    static func reserved(of max: Int) -> Int { min(8, max / 8) }

    /// - Returns: how many connections one address may have, so that one client leaves the others theirs.
    static func maxOfAddress(of max: Int) -> Int { Swift.max(1, max / 2) }

    private struct State {
        var admitted = 0
        var refused = 0
        /// Connections by ``ClientNetwork``.
        var addresses: [String: Int] = [:]

        mutating func close(_ address: String?) {
            admitted -= 1
            guard let address, let count = addresses[address] else { return }
            addresses[address] = count > 1 ? count - 1 : nil
        }
    }

    private let max: Int
    private let statistics: DoorStatistics
    private let isShared: @Sendable (String) -> Bool
    private let state = Mutex(State())

    /// - Parameters:
    ///   - max: connections of all clients.
    ///   - isShared: whether many clients come from an address, which then has no maximum of its own: a proxy, and this
    ///     machine.
    init(max: Int, statistics: DoorStatistics, isShared: @escaping @Sendable (String) -> Bool) {
        self.max = max
        self.statistics = statistics
        self.isShared = isShared
    }

    /// Counts the connection until its channel closes.
    func admit(_ channel: any Channel) -> Admission {
        let address = channel.remoteAddress?.ipAddress.flatMap { isShared($0) ? nil : ClientNetwork.key($0) }
        let admission = decide(address)
        switch admission {
        case .admitted, .reserve:
            statistics.connections.wrappingAdd(1, ordering: .relaxed)
            channel.closeFuture.whenComplete { [self] _ in
                close(address)
                statistics.connections.wrappingSubtract(1, ordering: .relaxed)
            }
        case .refused(let refusal):
            statistics.countRefusedConnection(refusal.rawValue)
            channel.closeFuture.whenComplete { [self] _ in state.withLock { $0.refused -= 1 } }
        case .dropped(let refusal): statistics.countRefusedConnection(refusal.rawValue)
        }
        return admission
    }

    /// Addresses that are counted.
    var addressCount: Int { state.withLock { $0.addresses.count } }

    /// Counts an admitted connection no more.
    func close(_ address: String?) { state.withLock { $0.close(address) } }

    /// Counts a connection that is admitted.
    /// - Parameter address: nil for one that has no maximum.
    func decide(_ address: String?) -> Admission {
        state.withLock { state in
            let ofAddress = address.map { state.addresses[$0, default: 0] } ?? 0
            let refusal: Refusal? =
                state.admitted >= max ? .all : ofAddress >= Self.maxOfAddress(of: max) ? .address : nil
            guard let refusal else {
                state.admitted += 1
                if let address { state.addresses[address] = ofAddress + 1 }
                return state.admitted > max - Self.reserved(of: max) ? .reserve : .admitted
            }
            guard state.refused < Self.maxRefused else { return .dropped(refusal) }
            state.refused += 1
            return .refused(refusal)
        }
    }
}

/// The part of a client's address by which failures are counted.
enum ClientNetwork {
    /// An IPv4 address, or the first 64 bits of an IPv6 address: a host has all addresses of such a network (RFC 7084).
    /// Other texts, such as the name of a Unix socket, are taken as they are, cut to 64 bytes.
    static func key(_ address: String) -> String {
        var bytes = in6_addr()
        guard inet_pton(AF_INET6, String(address.prefix { $0 != "%" }), &bytes) == 1 else {
            return String(decoding: address.utf8.prefix(64), as: UTF8.self)
        }
        return withUnsafeBytes(of: &bytes) { bytes in
            // IPv4-mapped: ::ffff:192.0.2.1
            if bytes.prefix(10).allSatisfy({ $0 == 0 }), bytes[10] == 0xFF, bytes[11] == 0xFF {
                return bytes[12...].map { "\($0)" }.joined(separator: ".")
            }
            return Hexadecimal.text(bytes.prefix(8)) + "::/64"
        }
    }
}
