/// A message of the kernel about links, addresses and routes, as in rtnetlink(7). Messages that are cut short
/// or unknown are passed over.
struct NetlinkMessage: Equatable {
    enum Body: Equatable {
        /// The end of a dump.
        case done
        /// The kernel refuses a request; an errno.
        case failed(CInt)
        case link(index: Int32, RouteTable.Interface)
        /// Nil for a route that does not say where packets leave: of broadcasts, of a cache, of other
        /// families.
        case route(RouteTable.Entry?)
        /// The table has changed, and only a dump tells how: the routes of an interface that goes are not
        /// announced.
        case changed
        case other
    }

    /// Of the request that it answers; 0 for an event.
    var sequence: UInt32
    /// The table changed during the dump, which is to be requested again.
    var isInterrupted: Bool
    var body: Body

    /// All messages of a datagram.
    static func parse(_ datagram: [UInt8]) -> [NetlinkMessage] {
        var messages: [NetlinkMessage] = []
        var rest = NetlinkBytes(datagram[...])
        while let length = rest.integer(at: 0, as: UInt32.self), length >= headerLength,
            let type = rest.integer(at: 4, as: UInt16.self), let flags = rest.integer(at: 6, as: UInt16.self),
            let sequence = rest.integer(at: 8, as: UInt32.self),
            let message = rest.part(from: headerLength, to: Int(length))
        {
            messages.append(
                NetlinkMessage(
                    sequence: sequence, isInterrupted: flags & 0x10 != 0, body: body(of: type, message)))
            rest = rest.dropping(aligned: Int(length))
        }
        return messages
    }

    private static let headerLength = 16

    private static func body(of type: UInt16, _ bytes: NetlinkBytes) -> Body {
        switch type {
        case 2: .failed(-(bytes.integer(at: 0, as: Int32.self) ?? 0))
        case 3: .done
        case 16: link(bytes)
        // Address new and gone, route gone.
        case 20, 21, 25: .changed
        // The family is that of the bridge where a port leaves it.
        case 17: bytes.integer(at: 0, as: UInt8.self) == 0 ? .changed : .other
        case 24: .route(RouteTable.Entry(message: bytes))
        default: .other
        }
    }

    private static func link(_ bytes: NetlinkBytes) -> Body {
        // Family, padding, type, index, flags, change.
        guard bytes.integer(at: 0, as: UInt8.self) == 0, let index = bytes.integer(at: 4, as: Int32.self),
            let flags = bytes.integer(at: 8, as: UInt32.self), let attributes = bytes.part(from: 16)
        else { return .other }
        var name = "\(index)"
        for attribute in attributes.attributes where attribute.type == 3 { name = attribute.value.text }
        return .link(
            index: index,
            RouteTable.Interface(
                name: name, isUp: flags & 1 != 0, hasCarrier: flags & 0x1_0000 != 0,
                isLoopback: flags & 8 != 0))
    }
}

extension RouteTable.Entry {
    /// Reads `struct rtmsg` and its attributes; nil for what does not count
    /// (``NetlinkMessage/Body/route(_:)``).
    init?(message bytes: NetlinkBytes) {
        guard let family = bytes.integer(at: 0, as: UInt8.self), family == 2 || family == 10,
            let length = bytes.integer(at: 1, as: UInt8.self), length <= (family == 2 ? 32 : 128),
            let smallTable = bytes.integer(at: 4, as: UInt8.self), let type = bytes.integer(at: 7, as: UInt8.self),
            let kind = RouteTable.Kind(rawValue: type), let flags = bytes.integer(at: 8, as: UInt32.self),
            flags & 0x200 == 0, let attributes = bytes.part(from: 12),
            let any = IPAddress(bytes: [UInt8](repeating: 0, count: family == 2 ? 4 : 16))
        else { return nil }
        prefix = any
        self.length = Int(length)
        table = UInt32(smallTable)
        self.kind = kind
        var hop = RouteTable.Hop(isDead: RouteTable.Hop.isDead(flags))
        for (type, value) in attributes.attributes {
            switch type {
            case 1:
                guard let address = IPAddress(bytes: value.bytes), address.isV6 == any.isV6 else { return nil }
                prefix = address
            case 4: hop.interface = value.integer(at: 0, as: Int32.self) ?? 0
            // A gateway of the same family, or of another.
            case 5, 18: hop.gateway = Array(value.bytes)
            case 6: metric = value.integer(at: 0, as: UInt32.self) ?? 0
            case 9: hops = Self.hops(value)
            case 15: table = value.integer(at: 0, as: UInt32.self) ?? table
            default: continue
            }
        }
        if hops.isEmpty { hops = [hop] }
    }

    /// Several ways for one route, as `struct rtnexthop`s.
    private static func hops(_ bytes: NetlinkBytes) -> [RouteTable.Hop] {
        var hops: [RouteTable.Hop] = []
        var rest = bytes
        while let length = rest.integer(at: 0, as: UInt16.self), length >= 8,
            let flags = rest.integer(at: 2, as: UInt8.self), let interface = rest.integer(at: 4, as: Int32.self),
            let attributes = rest.part(from: 8, to: Int(length))
        {
            var hop = RouteTable.Hop(interface: interface, isDead: RouteTable.Hop.isDead(UInt32(flags)))
            for attribute in attributes.attributes where attribute.type == 5 || attribute.type == 18 {
                hop.gateway = Array(attribute.value.bytes)
            }
            hops.append(hop)
            rest = rest.dropping(aligned: Int(length))
        }
        return hops
    }
}

extension RouteTable.Hop {
    /// RTNH_F_DEAD or RTNH_F_LINKDOWN.
    static func isDead(_ flags: UInt32) -> Bool { flags & 0x11 != 0 }
}

/// Bytes whose every access is checked: a message of the kernel may be of an unknown version.
struct NetlinkBytes {
    let bytes: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { self.bytes = bytes }

    /// In the byte order of this host; nil where there are too few bytes.
    func integer<Value: FixedWidthInteger & BitwiseCopyable>(at offset: Int, as type: Value.Type) -> Value? {
        guard let part = part(from: offset, to: offset + MemoryLayout<Value>.size) else { return nil }
        return part.bytes.withUnsafeBytes { $0.loadUnaligned(as: type) }
    }

    /// Nil where there are too few bytes.
    /// - Parameter end: nil for all bytes that there are.
    func part(from start: Int, to end: Int? = nil) -> NetlinkBytes? {
        let end = end ?? bytes.count
        guard start >= 0, start <= end, end <= bytes.count else { return nil }
        return NetlinkBytes(bytes[(bytes.startIndex + start)..<(bytes.startIndex + end)])
    }

    /// The bytes behind the first `count` and their padding to a multiple of four.
    func dropping(aligned count: Int) -> NetlinkBytes { NetlinkBytes(bytes.dropFirst((count + 3) & ~3)) }

    /// Pairs of type and value, as far as they are whole.
    var attributes: [(type: UInt16, value: NetlinkBytes)] {
        var attributes: [(type: UInt16, value: NetlinkBytes)] = []
        var rest = self
        while let length = rest.integer(at: 0, as: UInt16.self), let type = rest.integer(at: 2, as: UInt16.self),
            let value = rest.part(from: 4, to: Int(length))
        {
            // The upper two bits of the type are flags of its value.
            attributes.append((type & 0x3FFF, value))
            rest = rest.dropping(aligned: Int(length))
        }
        return attributes
    }

    /// Up to the first zero.
    var text: String { String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self) }
}
