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

/// The effects of a worker's commit on commands that it does not hold.
package struct EffectsReport: Sendable, Equatable {
    /// Their transitions. They are reports of no execution: nothing of a fault is set.
    package var events: [StatusReport]
    /// The commands that may run now, without those that have a rate limit.
    package var ready: [ReadyCommand]
    /// The commands with a rate limit that may run now. `ready` would not have their limits.
    package var limited: [CommandID]
    /// Workers hold commands whose cancellation was requested.
    package var hasRequests: Bool

    package init(
        events: [StatusReport], ready: [ReadyCommand], limited: [CommandID] = [], hasRequests: Bool
    ) {
        self.events = events
        self.ready = ready
        self.limited = limited
        self.hasRequests = hasRequests
    }

    func write(to writer: inout ByteWriter) {
        writer.append(hasRequests ? 1 as UInt8 : 0)
        writer.uint16(events.count)
        for event in events.prefix(StatusReport.maxCount) { event.write(to: &writer) }
        Submitted(ready).write(to: &writer)
        let limited = limited.prefix(Submitted.maxCount)
        writer.uint16(limited.count)
        for id in limited { writer.append(id) }
    }

    init(from reader: inout ByteReader) throws(WireError) {
        hasRequests = try reader.uint8("requests") != 0
        let count = try reader.uint16("events")
        events = []
        events.reserveCapacity(min(count, reader.remaining / StatusReport.minSize))
        for _ in 0..<count { events.append(try StatusReport(from: &reader)) }
        ready = try Submitted(from: &reader).commands
        limited = []
        for _ in 0..<(try reader.uint16("limited")) { limited.append(try reader.id("id")) }
    }
}

/// Executions that were answered 503. It goes before the `statuses` of their ends, and is not a part of these, because
/// release 0.1.0 drops a frame that is longer than it knows.
package struct Unavailable: Sendable, Equatable {
    /// An answer 503.
    package struct Answer: Sendable, Equatable {
        package var execution: CommandClaim
        /// The URL that was asked for; nil where the payload names none.
        package var target: CommandTarget?

        package init(_ execution: CommandClaim, target: CommandTarget?) {
            self.execution = execution
            self.target = target
        }
    }

    package var answers: [Answer]

    package init(_ answers: [Answer]) { self.answers = answers }

    func write(to writer: inout ByteWriter) {
        writer.uint16(min(answers.count, 0xFFFF))
        for answer in answers.prefix(0xFFFF) {
            writer.append(answer.execution.id)
            writer.uint32(answer.execution.claim)
            writer.append(answer.target == nil ? 0 : 1 as UInt8)
            writer.append(answer.target?.hash ?? 0)
        }
    }

    init(from reader: inout ByteReader) throws(WireError) {
        answers = []
        for _ in 0..<(try reader.uint16("answers")) {
            let execution = CommandClaim(id: try reader.id("answer"), claim: try reader.uint32("answer claim"))
            let hasTarget = try reader.uint8("has target") != 0
            let target = CommandTarget(hash: try reader.integer("target"))
            answers.append(Answer(execution, target: hasTarget ? target : nil))
        }
    }
}
