internal import Commands

/// Every message between Sluice's processes.
package enum Message: Sendable, Equatable {
    case hello(Hello)
    case state(WorkerState)
    case statuses(WorkerState, [StatusReport])
    case transfers(TransferReport)
    case published(Published)
    case program(Program)
    case effects(EffectsReport)
    case commitTime(CommitTime)
    case unavailable(Unavailable)
    case offers(Offers)
    case control(ControlState)
    /// The control state that follows, whose head it has, is of a coordinator that has not decided on the transfers of
    /// every worker yet: the paces of the coordinator before it hold as well.
    case handover
    case hint(Hint)
    case submitted(Submitted)

    private var type: UInt8 {
        switch self {
        case .hello: 1
        case .state: 2
        case .statuses: 3
        case .transfers: 4
        case .published: 5
        case .program: 6
        case .effects: 7
        case .commitTime: 8
        case .unavailable: 9
        case .offers: 16
        case .control: 17
        case .handover: 18
        case .hint: 32
        case .submitted: 33
        }
    }
}

extension Message {
    package func encoded(_ head: FrameHead) -> [UInt8] {
        var writer = ByteWriter(capacity: expectedSize)
        writer.append(FrameHead.version)
        writer.append(type)
        writer.uint16(head.seat)
        writer.uint64(head.epoch)
        writer.uint64(head.sequence)
        switch self {
        case .hello(let body): body.write(to: &writer)
        case .state(let body): body.write(to: &writer)
        case .statuses(let state, let reports):
            state.write(to: &writer)
            writer.uint16(reports.count)
            for report in reports.prefix(StatusReport.maxCount) { report.write(to: &writer) }
        case .transfers(let body): body.write(to: &writer)
        case .published(let body): body.write(to: &writer)
        case .program(let body): body.write(to: &writer)
        case .effects(let body): body.write(to: &writer)
        case .commitTime(let body): body.write(to: &writer)
        case .unavailable(let body): body.write(to: &writer)
        case .offers(let body): body.write(to: &writer)
        case .control(let body): body.write(to: &writer)
        case .handover: break
        case .hint(let body): body.write(to: &writer)
        case .submitted(let body): body.write(to: &writer)
        }
        return writer.bytes
    }

    /// Generous, so that the frame is not moved while it grows.
    private var expectedSize: Int {
        switch self {
        case .statuses(_, let reports): 128 + 96 * reports.count
        case .offers(let body): 64 + 48 * body.offers.count
        case .submitted(let body): 64 + 96 * body.commands.count
        case .effects(let body): 64 + 96 * (body.events.count + body.ready.count)
        case .hello, .state, .transfers, .published, .program, .control, .handover, .hint, .commitTime, .unavailable:
            256
        }
    }

    /// Reads a frame, whatever the bytes are. Fields behind those that this version knows are skipped.
    /// - Throws: ``WireError`` that names the field which could not be read.
    package static func decode(_ bytes: UnsafeRawBufferPointer) throws(WireError) -> (FrameHead, Message) {
        var reader = ByteReader(bytes)
        let version = try reader.uint8("version")
        guard version == FrameHead.version else { throw WireError(.unknownVersion(version), "version") }
        let type = try reader.uint8("type")
        let head = try FrameHead(from: &reader)
        let message: Message
        switch type {
        case 1: message = .hello(try Hello(from: &reader))
        case 2: message = .state(try WorkerState(from: &reader))
        case 3:
            let state = try WorkerState(from: &reader)
            let count = try reader.uint16("statuses")
            var reports: [StatusReport] = []
            // The count may be wrong: reserve no more than the frame can hold.
            reports.reserveCapacity(min(count, reader.remaining / StatusReport.minSize))
            for _ in 0..<count { reports.append(try StatusReport(from: &reader)) }
            message = .statuses(state, reports)
        case 4: message = .transfers(try TransferReport(from: &reader))
        case 5: message = .published(try Published(from: &reader))
        case 6: message = .program(try Program(from: &reader))
        case 7: message = .effects(try EffectsReport(from: &reader))
        case 8: message = .commitTime(try CommitTime(from: &reader))
        case 9: message = .unavailable(try Unavailable(from: &reader))
        case 16: message = .offers(try Offers(from: &reader))
        case 17: message = .control(try ControlState(from: &reader))
        case 18: message = .handover
        case 32: message = .hint(try Hint(from: &reader))
        case 33: message = .submitted(try Submitted(from: &reader))
        default: throw WireError(.unknownType(type), "type")
        }
        // Bytes that follow are fields of a later version.
        return (head, message)
    }
}

/// The fixed head of every frame. See PROTOCOL.md.
package struct FrameHead: Sendable, Equatable {
    package static let version: UInt8 = 1
    package static let noSeat = 0xFFFF

    package var seat: Int
    package var epoch: Int64
    package var sequence: Int64

    package init(seat: Int = FrameHead.noSeat, epoch: Int64, sequence: Int64) {
        self.seat = seat
        self.epoch = epoch
        self.sequence = sequence
    }

    /// Reads the fields behind version and type.
    init(from reader: inout ByteReader) throws(WireError) {
        seat = try reader.uint16("seat")
        epoch = try reader.count64("epoch")
        sequence = try reader.count64("sequence")
    }

    /// The sender of a frame whose body cannot be read. The head is the same in every version.
    /// - Returns: nil where the head cannot be read either.
    package static func ofUnreadable(_ bytes: UnsafeRawBufferPointer) -> FrameHead? {
        var reader = ByteReader(bytes)
        guard (try? reader.uint8("version")) != nil, (try? reader.uint8("type")) != nil else { return nil }
        return try? FrameHead(from: &reader)
    }
}
