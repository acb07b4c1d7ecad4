package import Commands

/// The coordinator's state for all workers, resent every second.
package struct ControlState: Sendable, Equatable {
    package struct Seat: Sendable, Hashable {
        package var seat: Int
        package var epoch: Int64

        package init(seat: Int, epoch: Int64) {
            self.seat = seat
            self.epoch = epoch
        }
    }

    package struct Pause: Sendable, Hashable {
        /// ``Offers/group(of:)`` of a destination; 0 for all.
        package var group: UInt32
        /// Bit n stands for the quality of raw value n.
        package var qualities: UInt8

        package init(group: UInt32, qualities: UInt8) {
            self.group = group
            self.qualities = qualities
        }

        package func covers(group: UInt32, qos: QualityOfService) -> Bool {
            (self.group == 0 || self.group == group) && qualities & (1 << UInt8(qos.rawValue)) != 0
        }
    }

    /// How fast each transfer of a quality may send to a destination. A transfer without a pace is not held
    /// back.
    package struct Pace: Sendable, Hashable {
        /// ``Offers/group(of:)`` of the destination.
        package var group: UInt32
        package var direction: Direction
        package var qos: QualityOfService
        /// 0: it stands still.
        package var bytesPerSecond: Int64

        package init(group: UInt32, direction: Direction, qos: QualityOfService, bytesPerSecond: Int64) {
            self.group = group
            self.direction = direction
            self.qos = qos
            self.bytesPerSecond = bytesPerSecond
        }
    }

    /// Stops an execution, by the policy of its link.
    package struct Stop: Sendable, Equatable {
        package enum Verb: UInt8, Sendable {
            /// Reset the connection and release the command; nothing is charged.
            case release = 0
            /// End it in status 5.
            case cancel = 1
        }

        package var target: CommandClaim
        package var verb: Verb
        package var reason: String

        package init(_ verb: Verb, _ target: CommandClaim, reason: String) {
            self.target = target
            self.verb = verb
            self.reason = reason
        }
    }

    /// Workers whose hello has been heard.
    package var registered: [Seat] = []
    /// Executions that a user or a deadline ends.
    package var cancels: [CommandClaim] = []
    package var pauses: [Pause] = []
    package var paces: [Pace] = []
    package var stops: [Stop] = []

    package init() {}

    func write(to writer: inout ByteWriter) {
        writer.uint16(registered.count)
        for seat in registered.prefix(0xFFFF) {
            writer.uint16(seat.seat)
            writer.uint64(seat.epoch)
        }
        writer.uint32(cancels.count)
        for cancel in cancels {
            writer.append(cancel.id)
            writer.uint32(cancel.claim)
        }
        writer.uint16(pauses.count)
        for pause in pauses.prefix(0xFFFF) {
            writer.append(pause.group)
            writer.append(pause.qualities)
        }
        writer.uint16(min(paces.count, 0xFFFF))
        for pace in paces.prefix(0xFFFF) {
            writer.append(pace.group)
            writer.append(pace.direction.code)
            writer.append(UInt8(pace.qos.rawValue))
            writer.uint64(pace.bytesPerSecond)
        }
        writer.uint16(min(stops.count, 0xFFFF))
        for stop in stops.prefix(0xFFFF) {
            writer.append(stop.target.id)
            writer.uint32(stop.target.claim)
            writer.append(stop.verb.rawValue)
            writer.text16(stop.reason)
        }
    }

    init(from reader: inout ByteReader) throws(WireError) {
        for _ in 0..<(try reader.uint16("registered")) {
            registered.append(Seat(seat: try reader.uint16("seat"), epoch: try reader.count64("epoch")))
        }
        for _ in 0..<(try reader.uint32("cancels")) {
            cancels.append(CommandClaim(id: try reader.id("cancel"), claim: try reader.uint32("claim")))
        }
        for _ in 0..<(try reader.uint16("pauses")) {
            pauses.append(Pause(group: try reader.integer("group"), qualities: try reader.uint8("qualities")))
        }
        for _ in 0..<(try reader.uint16("paces")) {
            let group: UInt32 = try reader.integer("pace group")
            guard let direction = Direction(code: try reader.uint8("pace direction")) else {
                throw WireError(.badValue, "pace direction")
            }
            guard let qos = QualityOfService(rawValue: Int(try reader.uint8("pace qos"))) else {
                throw WireError(.badValue, "pace qos")
            }
            paces.append(
                Pace(group: group, direction: direction, qos: qos, bytesPerSecond: try reader.count64("pace rate")))
        }
        for _ in 0..<(try reader.uint16("stops")) {
            let target = CommandClaim(id: try reader.id("stop"), claim: try reader.uint32("stop claim"))
            guard let verb = Stop.Verb(rawValue: try reader.uint8("stop verb")) else {
                throw WireError(.badValue, "stop verb")
            }
            stops.append(Stop(verb, target, reason: try reader.text16("stop reason")))
        }
    }
}
