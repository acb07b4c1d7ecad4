import Commands
import Foundation
import TestSupport
import Testing
import Wire

struct MessageTests {
    private static let page: String = {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        return (try? String(contentsOf: root.appending(path: "Sources/Wire/PROTOCOL.md"), encoding: .utf8)) ?? ""
    }()

    @Test func `the protocol page has each message with its number`() {
        var random = SeededRandom.announced("page")
        for message in Samples.all(&random) {
            let name = "\(message)".prefix { $0 != "(" }
            let number = message.encoded(Samples.head(&random))[1]
            #expect(Self.page.contains("**\(name) (\(number))**"), "\(name) (\(number))")
        }
    }

    @Test func `the protocol page has each status, with what it may become, and each quality of service`() {
        let rows = Self.page.split(separator: "\n").map { line in
            line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
        }
        for status in CommandStatus.allCases {
            let row = rows.first { $0.count == 4 && $0[0] == "\(status.rawValue)" && $0[1] == status.name }
            let next = CommandStatus.allCases.filter { status.mayBecome($0) }.map(\.name)
            let named = row?[3].split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }.filter {
                $0 != "–"
            }
            #expect(named.map { Set($0) } == Set(next), "\(status)")
        }
        for quality in QualityOfService.allCases {
            #expect(rows.contains(["\(quality.rawValue)", quality.name, "\(quality.serviceClass)"]), "\(quality)")
        }
    }

    @Test func `the frame on the protocol page is what a producer sends`() throws {
        let block = try #require(Self.page.split(separator: "```hex\n").last?.split(separator: "```").first)
        let bytes = block.split(separator: "\n").flatMap { line in
            line.prefix(23).split(separator: " ").compactMap { UInt8($0, radix: 16) }
        }
        let id = try #require(CommandID("018f3c5e-9a7b-7c1d-8e2f-0a1b2c3d4e5f"))
        #expect(bytes == Message.hint(Hint(.ready, [id])).encoded(FrameHead(epoch: 0, sequence: 1)))
    }

    @Test func `the protocol page names the hash of a group, and has lines of at most 110 characters`() {
        let group = Offers.group(of: Destination(scheme: "http", host: "127.0.0.1", port: 8080))
        #expect(Self.page.contains("0x" + String(group, radix: 16, uppercase: true)))
        #expect(Self.page.contains("32-bit FNV-1a"))
        #expect(Self.page.split(separator: "\n").filter { $0.count > 110 }.isEmpty)
    }

    @Test func `reads back every message that it writes`() throws {
        var random = SeededRandom.announced("messages")
        for _ in 0..<500 {
            for message in Samples.all(&random) {
                let head = Samples.head(&random)
                let (readHead, read) = try Message.decode(message.encoded(head))
                #expect(readHead == head)
                #expect(read == message)
            }
        }
    }

    @Test func `refuses every prefix of every frame, and skips the fields of a later version behind it`() throws {
        var random = SeededRandom.announced("prefixes")
        for _ in 0..<20 {
            for message in Samples.all(&random) {
                let frame = message.encoded(Samples.head(&random))
                for length in 0..<frame.count {
                    let error = #expect(throws: WireError.self) { try Message.decode(Array(frame[..<length])) }
                    #expect(error?.problem == .truncated)
                }
                #expect(try Message.decode(frame + [0, 255]).1 == message)
            }
        }
    }

    @Test func `names the version, the type and the field that it does not know`() {
        var frame = Message.state(WorkerState()).encoded(FrameHead(seat: 1, epoch: 2, sequence: 3))
        func problem(at index: Int, _ value: UInt8) -> String? {
            var bytes = frame
            bytes[index] = value
            return (#expect(throws: WireError.self) { try Message.decode(bytes) })?.description
        }
        #expect(problem(at: 0, 9) == "version 9 of the protocol is not known here")
        #expect(problem(at: 1, 99) == "message type 99 is not known here")
        #expect(problem(at: 20, 2) == "“phase” has a value that the protocol does not know")
        // The highest bit of the epoch: a number that no signed 64 bits hold.
        #expect(problem(at: 11, 0x80) == "“epoch” has a value that the protocol does not know")
        frame = Message.hint(Hint(.ready)).encoded(FrameHead(epoch: 0, sequence: 0))
        #expect(problem(at: 20, 4) == "“kind” has a value that the protocol does not know")
    }

    /// Release 0.1.0 drops a frame that is longer than it knows, and kills a worker whose states it cannot read: its
    /// messages never grow. The lengths are those of its tables.
    @Test func `the messages of release 0.1.0 keep their lengths`() {
        let id = CommandID(high: 1, low: 2)
        let event = StatusEvent(
            transition: Transition(seq: 1, id: id, status: .new, at: .zero, claim: 1, reason: nil), type: "noop",
            qos: .default, destination: .none, retries: 0, shard: 0)
        let ready = ReadyCommand(
            id: id, type: "noop", qos: .default, destination: .none, turn: 1, createdAt: .zero)
        let hello = Hello(pid: 1, startTime: 0, bootID: "abc", concurrency: 1, types: ["noop"], executing: [])
        let lengths: [(Message, Int)] = [
            (.hello(hello), 20 + 4 + 8 + 4 + 2 + 4 + 1 + 5 + 2),
            (.state(WorkerState()), 20 + 1 + 4 * 8 + 3 * 2 + 8 + 2),
            (.statuses(WorkerState(), [StatusReport(event: event)]), 69 + 2 + 16 + 8 + 2 + 3 + 4 + 2 + 8 + 5 + 2 + 2),
            (.hint(Hint(.ready, [id])), 20 + 1 + 2 + 16),
            (.submitted(Submitted([ready])), 20 + 2 + 16 + 1 + 8 + 8 + 5 + 2 + 8),
        ]
        for (message, length) in lengths {
            #expect(message.encoded(FrameHead(seat: 1, epoch: 2, sequence: 3)).count == length, "\(message)")
        }
    }

    @Test func `refuses text that is not UTF-8`() throws {
        let hello = Hello(
            pid: 1, startTime: 0, bootID: "abc", concurrency: 1, types: [], executing: [])
        var frame = Message.hello(hello).encoded(FrameHead(epoch: 0, sequence: 0))
        let position = try #require(frame.firstIndex(of: UInt8(ascii: "b")))
        frame[position] = 0xFF
        let error = #expect(throws: WireError.self) { try Message.decode(frame) }
        #expect(error?.description == "“boot id” is not valid UTF-8")
    }

    @Test func `refuses more ids in a hint than the protocol allows, before it reads them`() {
        var frame = Message.hint(Hint(.ready)).encoded(FrameHead(epoch: 0, sequence: 0))
        frame[21] = 0x01
        frame[22] = 0x10
        let error = #expect(throws: WireError.self) { try Message.decode(frame) }
        #expect(error == WireError(.badValue, "ids"))
    }

    @Test func `a size that a signed number cannot hold is not known`() throws {
        var command = ReadyCommand(
            id: CommandID(high: 1, low: 2), type: "upload", qos: .default, destination: .none, turn: 1,
            createdAt: .zero)
        command.remaining = 7
        var frame = Message.submitted(Submitted([command])).encoded(FrameHead(epoch: 0, sequence: 0))
        let tops: [(UInt8, Int64?)] = [(0, 7), (0x7F, 0x7F00_0000_0000_0007), (0x80, nil), (0xFF, nil)]
        for (top, remaining) in tops {
            frame[frame.count - 1] = top
            command.remaining = remaining
            #expect(try Message.decode(frame).1 == .submitted(Submitted([command])))
        }
    }

    @Test func `writes at most as much of each list and text as a reader accepts`() throws {
        let many = (0..<70_000).map { CommandID(high: UInt64($0), low: 0) }
        let head = FrameHead(seat: 70_000, epoch: -1, sequence: 0)

        guard case .hint(let hint) = try Message.decode(Message.hint(Hint(.ready, many)).encoded(head)).1 else {
            Issue.record("no hint")
            return
        }
        #expect(hint.ids == Array(many[..<Hint.maxCount]))

        let offers = Offers(
            first: 0,
            offers: many.map { .init(id: $0, type: "noop", qos: .default, suspect: false, group: 1, order: 0) })
        guard case .offers(let offered) = try Message.decode(Message.offers(offers).encoded(head)).1 else {
            Issue.record("no offers")
            return
        }
        #expect(offered.offers.count == Offers.maxCount)

        var control = ControlState()
        control.registered = (0..<70_000).map { .init(seat: $0, epoch: 1) }
        control.cancels = many.map { .init(id: $0, claim: 1) }
        control.pauses = (0..<70_000).map { .init(group: UInt32($0), qualities: 1) }
        guard case .control(let read) = try Message.decode(Message.control(control).encoded(head)).1 else {
            Issue.record("no control")
            return
        }
        #expect(read.cancels.count == 70_000)
        #expect(read.registered.count == 0xFFFF)
        #expect(read.pauses.count == 0xFFFF)

        var hello = Hello(
            pid: 1, startTime: 0, bootID: String(repeating: "é", count: 200), concurrency: 70_000,
            types: (0..<300).map { "t\($0)" }, executing: many.map { .init(id: $0, claim: 1) })
        hello.grace = .seconds(Int64.max)
        guard case .hello(let greeting) = try Message.decode(Message.hello(hello).encoded(head)).1 else {
            Issue.record("no hello")
            return
        }
        #expect(greeting.bootID == String(repeating: "é", count: 127))
        #expect(greeting.types.count == 255)
        #expect(greeting.executing.count == 0xFFFF)

        let event = StatusEvent(
            transition: Transition(
                seq: 1, id: many[0], status: .error, at: .zero, claim: 1,
                reason: String(repeating: "€", count: 30_000)),
            type: "upload", qos: .default, destination: .none, retries: 0, shard: 0)
        let reports = [StatusReport](repeating: StatusReport(event: event), count: 3)
        let statuses = Message.statuses(WorkerState(), reports)
        guard case .statuses(_, let told) = try Message.decode(statuses.encoded(head)).1 else {
            Issue.record("no statuses")
            return
        }
        #expect(told.first?.event.transition.reason == String(repeating: "€", count: 21_844))
    }

    @Test func `70,000 reports, links or transfers still make a readable frame`() throws {
        let event = StatusEvent(
            transition: Transition(
                seq: 1, id: CommandID(), status: .success, at: .zero, claim: 1),
            type: "noop", qos: .default, destination: .none, retries: 0, shard: 0)
        let reports = [StatusReport](repeating: StatusReport(event: event), count: 70_000)
        let transfers = TransferReport(
            links: .init(
                repeating: .init(destination: .none, direction: .up), count: 70_000),
            transfers: .init(
                repeating: .init(id: CommandID(), claim: 1, link: 0, qos: .default), count: 70_000))
        for message in [Message.statuses(WorkerState(), reports), .transfers(transfers)] {
            #expect(throws: Never.self) { try Message.decode(message.encoded(FrameHead(epoch: 0, sequence: 0))) }
        }
    }

    @Test func `groups destinations by name, and no group is 0`() {
        let one = Destination(scheme: "http", host: "a", port: 80)
        #expect(Offers.group(of: one) == Offers.group(of: Destination(scheme: "HTTP", host: "A", port: 80)))
        #expect(Offers.group(of: one) != Offers.group(of: Destination(scheme: "http", host: "b", port: 80)))
        #expect(Offers.group(of: .none) != 0)
    }

    @Test func `a pause covers the destinations and qualities that it names`() {
        let group = Offers.group(of: Destination(scheme: "http", host: "a", port: 80))
        let all = ControlState.Pause(group: 0, qualities: 0b11111)
        let low = ControlState.Pause(group: group, qualities: 0b11000)
        for quality in QualityOfService.allCases {
            #expect(all.covers(group: group, qos: quality))
            #expect(low.covers(group: group, qos: quality) == (quality.serviceClass == .low))
            #expect(!low.covers(group: group &+ 1, qos: quality))
        }
    }
}
