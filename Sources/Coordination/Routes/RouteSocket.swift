internal import CLinux
internal import Glibc
internal import Host

/// A socket to the kernel for links, addresses and routes (rtnetlink). Confined to one thread.
package final class RouteSocket {
    /// Readable when there is something to ``read()``.
    package let descriptor: CInt
    private var conversation = NetlinkDump()
    private var buffer = [UInt8](repeating: 0, count: 65_536)

    /// Datagrams of one ``read()``, because other sockets need the thread too.
    private static let maxAtOnce = 256

    /// Opens it and asks for the whole table, which the next reads bring.
    /// - Throws: ``KernelRouteError`` where the kernel or a sandbox refuses.
    package init() throws(KernelRouteError) {
        descriptor = clinux_route_socket()
        guard descriptor >= 0 else { throw KernelRouteError(errno) }
        send(conversation.begin())
    }

    deinit { close(descriptor) }

    /// Nil until the first dump is complete.
    package var table: RouteTable? { conversation.table }

    /// Reads the datagrams that are there, without waiting.
    /// - Returns: whether the table has changed.
    package func read() -> Bool {
        let before = conversation.table
        for _ in 0..<Self.maxAtOnce {
            let count = clinux_route_receive(descriptor, &buffer, buffer.count)
            if count >= 0 {
                for request in conversation.take(Array(buffer.prefix(count))) { send(request) }
            } else if errno == ENOBUFS || errno == EMSGSIZE {
                if let request = conversation.overrun() { send(request) }
            } else if errno != EINTR {
                break
            }
        }
        return conversation.table != before
    }

    /// A request that cannot be sent is made again at the next event.
    private func send(_ request: [UInt8]) {
        if Glibc.send(descriptor, request, request.count, CInt(MSG_NOSIGNAL)) < 0 { conversation.abandon() }
    }
}

/// Requests to the kernel and its answers, one dump at a time. Pure.
///
/// An event is only a hint that the table has changed: the routes of an interface that goes are not
/// announced, and an overrun loses events. So each change requests the whole table again, links first and
/// then routes; a change that comes meanwhile requests it once more.
///
/// ```
///   idle ──begin──► links ──done──► routes ──done──► idle, table renewed; or links again where something has changed
/// ```
struct NetlinkDump {
    private enum Phase: Equatable {
        case idle
        case links
        case routes
    }

    /// As of the last whole dump; nil before the first.
    private(set) var table: RouteTable?
    private var next = RouteTable()
    private var phase = Phase.idle
    private var isStale = false
    /// Sequence number of the last request. Events have 0.
    private var sequence: UInt32 = 0

    /// - Returns: the first request.
    mutating func begin() -> [UInt8] {
        isStale = false
        next = RouteTable()
        phase = .links
        return request(18, length: 16)
    }

    /// The request could not be sent: the next event requests again.
    mutating func abandon() { phase = .idle }

    /// Events were lost.
    /// - Returns: a request to be sent.
    mutating func overrun() -> [UInt8]? { changed() }

    /// Takes a datagram in.
    /// - Returns: requests to be sent.
    mutating func take(_ datagram: [UInt8]) -> [[UInt8]] {
        NetlinkMessage.parse(datagram).compactMap { message in
            message.sequence == sequence && phase != .idle ? answer(message) : event(message.body)
        }
    }

    private mutating func answer(_ message: NetlinkMessage) -> [UInt8]? {
        if message.isInterrupted { isStale = true }
        switch message.body {
        case .link(let index, let interface): next.interfaces[index] = interface
        case .route(let entry): if let entry { next.entries.append(entry) }
        case .done: return done()
        // Refused: the next event requests again.
        case .failed: phase = .idle
        case .changed, .other: break
        }
        return nil
    }

    private mutating func done() -> [UInt8]? {
        if phase == .links {
            phase = .routes
            return request(26, length: 12)
        }
        phase = .idle
        table = next
        return isStale ? begin() : nil
    }

    private mutating func event(_ body: NetlinkMessage.Body) -> [UInt8]? {
        switch body {
        // Drivers repeat their events.
        case .link(let index, let interface):
            return phase == .idle && table?.interfaces[index] == interface ? nil : changed()
        case .route(let entry): return entry == nil ? nil : changed()
        case .changed: return changed()
        case .done, .failed, .other: return nil
        }
    }

    private mutating func changed() -> [UInt8]? {
        if phase == .idle { return begin() }
        isStale = true
        return nil
    }

    /// A request for a dump of all families: `struct nlmsghdr`, then `length` zeros.
    private mutating func request(_ type: UInt16, length: Int) -> [UInt8] {
        sequence = sequence == .max ? 1 : sequence + 1
        let dump: UInt16 = 0x301
        var bytes: [UInt8] = []
        withUnsafeBytes(of: UInt32(16 + length)) { bytes += $0 }
        withUnsafeBytes(of: type) { bytes += $0 }
        withUnsafeBytes(of: dump) { bytes += $0 }
        withUnsafeBytes(of: sequence) { bytes += $0 }
        return bytes + [UInt8](repeating: 0, count: 4 + length)
    }
}

/// Why the kernel's routes cannot be read.
package struct KernelRouteError: Error, Equatable, CustomStringConvertible {
    package let number: CInt

    init(_ number: CInt) { self.number = number }

    package var description: String { "routes cannot be read from the kernel: \(SystemError(number))" }
}
