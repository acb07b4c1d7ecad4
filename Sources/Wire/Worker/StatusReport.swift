package import Commands

/// A transition that a worker has committed; for a failure, with its fault.
package struct StatusReport: Sendable, Equatable {
    package var event: StatusEvent
    package var fault: CommandFailure.Fault?
    /// The destination asked for fewer requests at once: 429 or 503.
    package var isPushback: Bool
    /// A response of the destination says that it failed.
    package var isAnswer: Bool
    /// The answer was 503 to this. It is not a part of the frame, but of an ``Unavailable`` before it.
    package var unavailable: Unavailable.Answer?

    /// Reports in one frame, at most.
    package static let maxCount = 0xFFFF
    static let minSize = 54
    private static let pushbackBit: UInt8 = 0x80
    private static let answerBit: UInt8 = 0x40

    package init(
        event: StatusEvent, fault: CommandFailure.Fault? = nil, isPushback: Bool = false, isAnswer: Bool = false
    ) {
        self.event = event
        self.fault = fault
        self.isPushback = isPushback
        self.isAnswer = isAnswer
    }

    func write(to writer: inout ByteWriter) {
        let transition = event.transition
        writer.append(transition.id)
        writer.append(transition.seq)
        writer.uint16(event.shard)
        writer.append(UInt8(transition.status.rawValue))
        writer.append(UInt8(event.qos.rawValue))
        writer.append(
            (fault.map { UInt8($0.rawValue + 1) } ?? 0) | (isPushback ? Self.pushbackBit : 0)
                | (isAnswer ? Self.answerBit : 0))
        writer.uint32(transition.claim)
        writer.uint16(event.retries)
        writer.append(transition.at.milliseconds)
        writer.text8(event.type)
        writer.text16(event.destination.text)
        writer.text16(transition.reason)
    }

    /// Leaves the seat nil: it is in the head of the frame, and the receiver fills it in.
    init(from reader: inout ByteReader) throws(WireError) {
        let id = try reader.id("id")
        let seq = try reader.int64("seq")
        let shard = try reader.uint16("shard")
        guard let status = CommandStatus(rawValue: Int(try reader.uint8("status"))) else {
            throw WireError(.badValue, "status")
        }
        guard let qos = QualityOfService(rawValue: Int(try reader.uint8("qos"))) else {
            throw WireError(.badValue, "qos")
        }
        let flags = try reader.uint8("fault")
        let faultByte = Int(flags & ~(Self.pushbackBit | Self.answerBit))
        let fault = CommandFailure.Fault(rawValue: faultByte - 1)
        guard faultByte == 0 || fault != nil else { throw WireError(.badValue, "fault") }
        let claim = try reader.uint32("claim")
        let retries = try reader.uint16("retries")
        let at = Timestamp(milliseconds: try reader.int64("at"))
        let type = try reader.text8("type")
        let destination = Destination(unchecked: try reader.text16("destination"))
        let reason = try reader.optionalText16("reason")
        self.init(
            event: StatusEvent(
                transition: Transition(
                    seq: seq, id: id, status: status, at: at, claim: claim, reason: reason),
                type: type, qos: qos, destination: destination, retries: retries, shard: shard),
            fault: fault, isPushback: flags & Self.pushbackBit != 0, isAnswer: flags & Self.answerBit != 0)
    }
}
