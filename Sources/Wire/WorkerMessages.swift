package import Commands

/// A worker introduces itself: at once, again after 10 ms, then after twice as long each time, up to 1 s, until it is
/// greeted.
package struct Hello: Sendable, Equatable {
    package struct Held: Sendable, Equatable {
        package var id: CommandID
        package var claim: Int

        package init(id: CommandID, claim: Int) {
            self.id = id
            self.claim = claim
        }
    }

    package var pid: Int32
    package var startTime: Int64
    package var bootID: String
    package var concurrency: Int
    package var grace: Duration
    package var types: [String]
    package var executing: [Held]

    package init(
        pid: Int32, startTime: Int64, bootID: String, concurrency: Int, grace: Duration, types: [String],
        executing: [Held]
    ) {
        self.pid = pid
        self.startTime = startTime
        self.bootID = bootID
        self.concurrency = concurrency
        self.grace = grace
        self.types = types
        self.executing = executing
    }

    func write(to writer: inout ByteWriter) {
        writer.uint32(Int(pid))
        writer.append(startTime)
        writer.text8(bootID)
        writer.uint16(concurrency)
        writer.uint32(Int(clamping: grace.milliseconds))
        writer.append(UInt8(clamping: types.count))
        for type in types.prefix(255) { writer.text8(type) }
        let held = executing.prefix(0xFFFF)
        writer.uint16(held.count)
        for command in held {
            writer.append(command.id)
            writer.uint32(command.claim)
        }
    }

    init(from reader: inout ByteReader) throws(WireError) {
        guard let pid = Int32(exactly: try reader.uint32("pid")) else { throw WireError(.badValue, "pid") }
        self.pid = pid
        startTime = try reader.int64("start time")
        bootID = try reader.text8("boot id")
        concurrency = try reader.uint16("concurrency")
        grace = .milliseconds(try reader.uint32("grace"))
        types = []
        for _ in 0..<(try reader.uint8("types")) { types.append(try reader.text8("type")) }
        executing = []
        for _ in 0..<(try reader.uint16("executing")) {
            executing.append(Held(id: try reader.id("executing id"), claim: try reader.uint32("executing claim")))
        }
    }
}

/// What a worker holds, as cumulative state: losing any number of reports loses nothing.
package struct WorkerState: Sendable, Equatable {
    package enum Phase: UInt8, Sendable {
        case ready = 0
        case draining = 1
    }

    package var phase: Phase = .ready
    /// Incarnation of the coordinator whose offers ``seen`` and ``resolved`` count; 0 before the first.
    package var coordinator: Int64 = 0
    /// Highest offer number seen; skipped numbers are lost and count as seen and resolved.
    package var seen: Int64 = 0
    package var resolved: Int64 = 0
    /// Executions ended since the worker started.
    package var completed: Int64 = 0
    package var executing = 0
    package var free = 0
    package var freeHigh = 0
    /// Raised by the worker's loop.
    package var progress: Int64 = 0
    /// Shards in which it cannot commit, because another process keeps them locked.
    package var locked: Set<Int> = []

    package init() {}

    func write(to writer: inout ByteWriter) {
        writer.append(phase.rawValue)
        writer.uint64(coordinator)
        writer.uint64(seen)
        writer.uint64(resolved)
        writer.uint64(completed)
        writer.uint16(executing)
        writer.uint16(free)
        writer.uint16(freeHigh)
        writer.uint64(progress)
        writer.uint16(locked.count)
        for shard in locked.sorted() { writer.append(UInt8(clamping: shard)) }
    }

    init(from reader: inout ByteReader) throws(WireError) {
        guard let phase = Phase(rawValue: try reader.uint8("phase")) else { throw WireError(.badValue, "phase") }
        self.phase = phase
        coordinator = try reader.count64("coordinator")
        seen = try reader.count64("seen")
        resolved = try reader.count64("resolved")
        completed = try reader.count64("completed")
        executing = try reader.uint16("executing")
        free = try reader.uint16("free")
        freeHigh = try reader.uint16("free high")
        progress = try reader.count64("progress")
        for _ in 0..<(try reader.uint16("locked")) { locked.insert(Int(try reader.uint8("locked shard"))) }
    }
}

/// A transition that a worker has committed, and whose fault it was where it is a failure.
package struct StatusReport: Sendable, Equatable {
    package var event: StatusEvent
    package var fault: CommandFailure.Fault?
    /// The destination asked for fewer requests at once: 429 or 503.
    package var isPushback: Bool
    /// A response of the destination says that it failed.
    package var isAnswer: Bool

    /// Reports in one frame at most.
    package static let maxCount = 0xFFFF
    static let smallestSize = 54
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

    /// The seat is the frame's; ``Message/decode(_:)`` leaves it empty and the receiver fills it in.
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
                    seq: seq, id: id, status: status, at: at, seat: nil, claim: claim, reason: reason),
                type: type, qos: qos, destination: destination, retries: retries, shard: shard),
            fault: fault, isPushback: flags & Self.pushbackBit != 0, isAnswer: flags & Self.answerBit != 0)
    }
}
