package import Commands

/// A worker's report of one running transfer, 4 times a second. It is a state, never a difference.
package struct TransferSample: Sendable, Equatable {
    package enum State: UInt8, Sendable {
        case running = 0
        /// Its pacing made it wait since the last sample.
        case throttled = 1
        case paused = 2
    }

    package var id: CommandID
    package var destination: Destination
    package var direction: Direction
    package var qos: QualityOfService
    package var state = State.running
    /// Bytes of this execution that the peer has acknowledged (`tcpi_bytes_acked`), or that were read. Not
    /// the bytes that the socket took: on a 2 Mbit/s uplink those were 5.8 to 9.4 times as many in the first
    /// 250 ms.
    package var acknowledged: Int64 = 0
    /// The durable offset in the file, as far as known; 0 while a checksum is computed.
    package var offset: Int64 = 0
    /// Bytes of this execution that were sent again (`tcpi_bytes_retrans`).
    package var retransmitted: Int64 = 0
    /// Bytes still to be sent; 0 while the response is awaited, nil where unknown.
    package var remaining: Int64?
    /// The smoothed and the least round trip of the connection; nil before the first.
    package var srtt: Duration?
    package var minRTT: Duration?
    /// From the request to the first byte of the response; nil before it came.
    package var timeToFirstByte: Duration?
    /// The receiver has closed its TCP window, so that no byte may be sent (RFC 9293, section 3.8.6.1), and
    /// the receiver's host still answers probes of the window.
    package var isWindowClosed = false
    /// It continues elsewhere from its durable offset.
    package var isResumable = false
    /// It may be executed again after an ambiguous end. Otherwise it is never cut.
    package var isIdempotent = true

    package init(id: CommandID, destination: Destination, direction: Direction = .up, qos: QualityOfService) {
        self.id = id
        self.destination = destination
        self.direction = direction
        self.qos = qos
    }

    package var key: LinkKey { LinkKey(destination, direction) }

    /// Bytes that are sent twice after a cut, apart from those that the destination has not made durable yet.
    package var waste: Int64 { isResumable ? 0 : acknowledged }

    /// It has bytes to send, and neither this host nor the receiver holds it back: its rate is what the link
    /// carries.
    package var isFlowing: Bool { state == .running && !isWindowClosed && acknowledged > 0 && remaining != 0 }

    /// It has bytes to send and waits for the receiver, which is neither caused by the link nor a silence.
    package var isHeldByReceiver: Bool { state == .running && isWindowClosed && remaining != 0 }
}

/// The bytes that a worker has moved over one link for one class since it started, including transfers that
/// have ended. Short transfers begin and end between two samples, so goodput is counted here.
package struct LinkCounter: Sendable, Equatable {
    package var destination: Destination
    package var direction: Direction
    package var serviceClass: ServiceClass
    /// Bytes acknowledged by the peer, or read; cumulative.
    package var bytes: Int64

    package init(destination: Destination, direction: Direction = .up, serviceClass: ServiceClass, bytes: Int64) {
        self.destination = destination
        self.direction = direction
        self.serviceClass = serviceClass
        self.bytes = bytes
    }
}
