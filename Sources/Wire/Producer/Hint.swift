package import Commands

/// Asks the coordinator to look at commands now, and not at its next sweep.
package struct Hint: Sendable, Equatable {
    package enum Kind: UInt8, Sendable {
        /// Submitted or released: may be ready.
        case ready = 0
        case cancelRequested = 1
        case settingsChanged = 2
        /// Cancelled, retried, resolved or requalified by a user.
        case changed = 3
    }

    package var kind: Kind
    package var ids: [CommandID]

    /// Ids in one hint, at most. The coordinator's sweep finds the rest of a larger bulk.
    package static let maxCount = 4096
    /// Commands of one submit or change that get a hint. They fill the window of the coordinator, which finds the others
    /// when it runs low, and by its sweep.
    package static let maxBulkCount = 256

    package init(_ kind: Kind, _ ids: [CommandID] = []) {
        self.kind = kind
        self.ids = ids
    }

    func write(to writer: inout ByteWriter) {
        writer.append(kind.rawValue)
        let ids = ids.prefix(Self.maxCount)
        writer.uint16(ids.count)
        for id in ids { writer.append(id) }
    }

    init(from reader: inout ByteReader) throws(WireError) {
        guard let kind = Kind(rawValue: try reader.uint8("kind")) else { throw WireError(.badValue, "kind") }
        self.kind = kind
        let count = try reader.uint16("ids")
        guard count <= Self.maxCount else { throw WireError(.badValue, "ids") }
        ids = []
        ids.reserveCapacity(min(count, reader.remaining / 16))
        for _ in 0..<count { ids.append(try reader.id("id")) }
    }
}
