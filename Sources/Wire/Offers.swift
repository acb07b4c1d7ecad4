package import Commands

/// Commands that a worker may claim.
package struct Offers: Sendable, Equatable {
    package struct Offer: Sendable, Equatable {
        package var id: CommandID
        package var type: String
        package var qos: QualityOfService
        package var suspect: Bool
        /// It runs as the only suspect of its worker.
        package var isSoleSuspect = false
        /// ``group(of:)`` of its destination.
        package var group: UInt32
        /// Smaller first, within a class.
        package var order: Int64
        /// Its position in the shard, by which the store finds it sooner than by its id; 0: not known.
        package var turn: Int64 = 0
        /// It takes an extra slot, beyond those of its class.
        package var isExtra = false

        package init(
            id: CommandID, type: String, qos: QualityOfService, suspect: Bool, group: UInt32, order: Int64
        ) {
            self.id = id
            self.type = type
            self.qos = qos
            self.suspect = suspect
            self.group = group
            self.order = order
        }
    }

    /// The number of the first; the others count on.
    package var first: Int64
    package var offers: [Offer]

    /// Offers in one frame at most.
    package static let maxCount = 0xFFFF

    package init(first: Int64, offers: [Offer]) {
        self.first = first
        self.offers = offers
    }

    /// The group of a destination: the 32-bit FNV-1a hash of its text, and 1 where that is 0. It tells
    /// destinations apart where their names are not needed.
    package static func group(of destination: Destination) -> UInt32 {
        var hash: UInt32 = 2_166_136_261
        for byte in destination.text.utf8 { hash = (hash ^ UInt32(byte)) &* 16_777_619 }
        return max(hash, 1)
    }

    func write(to writer: inout ByteWriter) {
        writer.uint64(first)
        writer.uint16(min(offers.count, Self.maxCount))
        for offer in offers.prefix(Self.maxCount) {
            writer.append(offer.id)
            writer.append(UInt8(offer.qos.rawValue))
            writer.append(UInt8((offer.suspect ? 1 : 0) | (offer.isExtra ? 2 : 0) | (offer.isSoleSuspect ? 4 : 0)))
            writer.append(offer.group)
            writer.append(offer.order)
            writer.uint64(offer.turn)
            writer.text8(offer.type)
        }
    }

    init(from reader: inout ByteReader) throws(WireError) {
        first = try reader.count64("first")
        // Beyond any real count, and the number of the last offer must fit too.
        guard first <= Int64.max / 2 else { throw WireError(.badValue, "first") }
        let count = try reader.uint16("offers")
        offers = []
        offers.reserveCapacity(min(count, reader.remaining / 39))
        for _ in 0..<count {
            let id = try reader.id("offer")
            guard let qos = QualityOfService(rawValue: Int(try reader.uint8("qos"))) else {
                throw WireError(.badValue, "qos")
            }
            let flags = try reader.uint8("flags")
            let group: UInt32 = try reader.integer("group")
            let order = try reader.int64("order")
            let turn = try reader.count64("turn")
            var offer = Offer(
                id: id, type: try reader.text8("type"), qos: qos, suspect: flags & 1 != 0, group: group, order: order)
            offer.turn = turn
            offer.isExtra = flags & 2 != 0
            offer.isSoleSuspect = flags & 4 != 0
            offers.append(offer)
        }
    }
}
