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
