package import Commands

/// Commands that a producer has just committed and that are ready, with all that an offer needs: the
/// coordinator does not have to read the store first. The claim decides, as always.
package struct Submitted: Sendable, Equatable {
    package var commands: [ReadyCommand]

    /// Commands in one message, at most. A producer that has more sends a ``Hint``, and the coordinator reads
    /// them in order.
    package static let maxCount = 128

    package init(_ commands: [ReadyCommand]) { self.commands = commands }

    func write(to writer: inout ByteWriter) {
        let commands = commands.prefix(Self.maxCount)
        writer.uint16(commands.count)
        for command in commands {
            writer.append(command.id)
            writer.append(UInt8(command.qos.rawValue))
            writer.uint64(command.turn)
            writer.uint64(command.createdAt.milliseconds)
            writer.text8(command.type)
            writer.text16(command.destination.text)
            writer.append(command.remaining.map { UInt64(clamping: $0) } ?? UInt64.max)
        }
    }

    init(from reader: inout ByteReader) throws(WireError) {
        let count = try reader.uint16("commands")
        guard count <= Self.maxCount else { throw WireError(.badValue, "commands") }
        commands = []
        for _ in 0..<count {
            let id = try reader.id("id")
            guard let qos = QualityOfService(rawValue: Int(try reader.uint8("qos"))) else {
                throw WireError(.badValue, "qos")
            }
            let turn = try reader.count64("turn")
            let created = try reader.count64("created")
            // The coordinator adds to it, which must not overflow.
            guard created <= Int64.max / 2 else { throw WireError(.badValue, "created") }
            let type = try reader.text8("type")
            let destination = Destination(unchecked: try reader.text16("destination"))
            let remaining: UInt64 = try reader.integer("remaining")
            var command = ReadyCommand(
                id: id, type: type, qos: qos, destination: destination, turn: turn,
                createdAt: Timestamp(milliseconds: created))
            command.remaining = Int64(exactly: remaining)
            commands.append(command)
        }
    }
}

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
