package import Commands

/// The transfers of a worker and its bytes by link, 4 times a second while transfers run. State, never
/// deltas.
package struct TransferReport: Sendable, Equatable {
    /// A destination and direction, over all transfers that the worker has had there since it started, or
    /// since the link was quiet for a while and was forgotten.
    package struct Link: Sendable, Equatable {
        package var destination: Destination
        package var direction: Direction
        /// Bytes that peers have acknowledged, or that were received; cumulative, by class of quality. Fewer
        /// than before: they are counted from 0 again.
        package var bytes: [Int64]
        /// Bytes per second since the last report.
        package var rate: Int64
        package var inFlight: Int
        /// Median of the smoothed round trips of its connections; nil where none is known.
        package var roundTrip: Duration?

        package init(
            destination: Destination, direction: Direction, bytes: [Int64] = [0, 0, 0], rate: Int64 = 0,
            inFlight: Int = 0, roundTrip: Duration? = nil
        ) {
            self.destination = destination
            self.direction = direction
            self.bytes = bytes
            self.rate = rate
            self.inFlight = inFlight
            self.roundTrip = roundTrip
        }

        package var allBytes: Int64 { bytes.reduce(0) { $0.addingReportingOverflow($1).overflow ? .max : $0 + $1 } }
    }

    package enum Pacing: UInt8, Sendable {
        case free = 0
        /// Its pace has made it wait since the last report.
        case throttled = 1
        case paused = 2
    }

    package struct Transfer: Sendable, Equatable {
        package var id: CommandID
        package var claim: Int
        /// Which of ``TransferReport/links``.
        package var link: Int
        package var qos: QualityOfService
        package var pacing = Pacing.free
        /// Another execution can go on from its offset.
        package var isResumable = false
        package var isIdempotent = false
        /// Something of it is new since the last report, so monitors get an event.
        package var hasMoved = false
        /// The receiver has closed its TCP window.
        package var isWindowClosed = false
        /// It computes a checksum of its file, and ``offset`` says how far that is.
        package var isVerifying = false
        /// The peer has received the whole request, and its response is missing for ``firstByte``.
        package var isAwaitingResponse = false
        package var offset: Int64 = 0
        /// 0: not known.
        package var total: Int64 = 0
        /// Bytes per second since the last report.
        package var rate: Int64 = 0
        /// Bytes of this execution that the peer has acknowledged, or that were received.
        package var acknowledged: Int64 = 0
        package var retransmitted: Int64 = 0
        /// Smoothed; nil before the first.
        package var roundTrip: Duration?
        package var minRoundTrip: Duration?
        /// From the end of the request to the first byte of the response; nil before the request has ended.
        package var firstByte: Duration?

        package init(id: CommandID, claim: Int, link: Int, qos: QualityOfService) {
            self.id = id
            self.claim = claim
            self.link = link
            self.qos = qos
        }
    }

    package var links: [Link]
    package var transfers: [Transfer]

    package init(links: [Link], transfers: [Transfer]) {
        self.links = links
        self.transfers = transfers
    }

    func write(to writer: inout ByteWriter) {
        writer.uint16(min(links.count, 0xFFFF))
        for link in links.prefix(0xFFFF) {
            writer.text16(link.destination.text)
            writer.append(link.direction.code)
            for bytes in link.bytes { writer.uint64(bytes) }
            writer.uint64(link.rate)
            writer.uint16(link.inFlight)
            writer.microseconds(link.roundTrip)
        }
        writer.uint16(min(transfers.count, 0xFFFF))
        for transfer in transfers.prefix(0xFFFF) {
            writer.append(transfer.id)
            writer.uint32(transfer.claim)
            writer.uint16(transfer.link)
            writer.append(UInt8(transfer.qos.rawValue))
            writer.append(transfer.flags)
            writer.uint64(transfer.offset)
            writer.uint64(transfer.total)
            writer.uint64(transfer.rate)
            writer.uint64(transfer.acknowledged)
            writer.uint64(transfer.retransmitted)
            writer.microseconds(transfer.roundTrip)
            writer.microseconds(transfer.minRoundTrip)
            writer.microseconds(transfer.firstByte)
        }
    }

    init(from reader: inout ByteReader) throws(WireError) {
        links = []
        for _ in 0..<(try reader.uint16("links")) {
            let destination = Destination(unchecked: try reader.text16("destination"))
            guard let direction = Direction(code: try reader.uint8("direction")) else {
                throw WireError(.badValue, "direction")
            }
            var bytes: [Int64] = []
            for _ in ServiceClass.allCases { bytes.append(try reader.count64("bytes")) }
            links.append(
                Link(
                    destination: destination, direction: direction, bytes: bytes, rate: try reader.count64("rate"),
                    inFlight: try reader.uint16("in flight"), roundTrip: try reader.microseconds("round trip")))
        }
        transfers = []
        for _ in 0..<(try reader.uint16("transfers")) {
            let transfer = try Transfer(from: &reader)
            guard transfer.link < links.count else { throw WireError(.badValue, "link") }
            transfers.append(transfer)
        }
    }
}

extension TransferReport.Transfer {
    private static let resumableBit: UInt8 = 4
    private static let idempotentBit: UInt8 = 8
    private static let movedBit: UInt8 = 16
    private static let closedBit: UInt8 = 32
    private static let verifyingBit: UInt8 = 64
    private static let awaitingBit: UInt8 = 128

    fileprivate var flags: UInt8 {
        pacing.rawValue | (isResumable ? Self.resumableBit : 0) | (isIdempotent ? Self.idempotentBit : 0)
            | (hasMoved ? Self.movedBit : 0) | (isWindowClosed ? Self.closedBit : 0)
            | (isVerifying ? Self.verifyingBit : 0) | (isAwaitingResponse ? Self.awaitingBit : 0)
    }

    fileprivate init(from reader: inout ByteReader) throws(WireError) {
        let id = try reader.id("transfer")
        let claim = try reader.uint32("claim")
        let link = try reader.uint16("link")
        guard let qos = QualityOfService(rawValue: Int(try reader.uint8("qos"))) else {
            throw WireError(.badValue, "qos")
        }
        self.init(id: id, claim: claim, link: link, qos: qos)
        let flags = try reader.uint8("flags")
        guard let pacing = TransferReport.Pacing(rawValue: flags & 3) else { throw WireError(.badValue, "pacing") }
        self.pacing = pacing
        isResumable = flags & Self.resumableBit != 0
        isIdempotent = flags & Self.idempotentBit != 0
        hasMoved = flags & Self.movedBit != 0
        isWindowClosed = flags & Self.closedBit != 0
        isVerifying = flags & Self.verifyingBit != 0
        isAwaitingResponse = flags & Self.awaitingBit != 0
        offset = try reader.count64("offset")
        total = try reader.count64("total")
        rate = try reader.count64("rate")
        acknowledged = try reader.count64("acknowledged")
        retransmitted = try reader.count64("retransmitted")
        roundTrip = try reader.microseconds("round trip")
        minRoundTrip = try reader.microseconds("minimum round trip")
        firstByte = try reader.microseconds("first byte")
    }
}
