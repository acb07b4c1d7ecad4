import Testing

@testable import Coordination

@Suite struct NetlinkDumpTests {
    private let links = RecordedTables.links
    private let routes = RecordedTables.routes

    /// An event of the kernel, or the end of an answer.
    private func message(
        _ type: UInt16, flags: UInt16 = 0, sequence: UInt32 = 0, _ body: [UInt8] = [0, 0, 0, 0]
    ) -> [UInt8] {
        var bytes: [UInt8] = []
        withUnsafeBytes(of: UInt32(16 + body.count)) { bytes += $0 }
        withUnsafeBytes(of: type) { bytes += $0 }
        withUnsafeBytes(of: flags) { bytes += $0 }
        withUnsafeBytes(of: sequence) { bytes += $0 }
        return bytes + [0, 0, 0, 0] + body
    }

    private func type(_ request: [UInt8]?) -> UInt8? { request?[4] }

    /// A dump that is complete, by requests 1 and 2.
    private var informed: NetlinkDump {
        var conversation = NetlinkDump()
        _ = conversation.begin()
        _ = conversation.take(RecordedTables.answer(links, to: 1))
        _ = conversation.take(RecordedTables.answer(routes, to: 2))
        return conversation
    }

    @Test func `the table is complete after links and routes were requested`() {
        var conversation = NetlinkDump()
        let first = conversation.begin()
        #expect(first.count == 32 && first[0] == 32 && type(first) == 18 && first[6] == 1 && first[7] == 3)
        #expect(conversation.take([]) == [])
        let second = conversation.take(RecordedTables.answer(links, to: 1))
        #expect(second.map(type) == [26] && second[0].count == 28)
        #expect(conversation.table == nil)
        #expect(conversation.take(RecordedTables.answer(routes, to: 2)) == [])
        #expect(conversation.table?.interfaces.count == 5)
        #expect(conversation.table?.entries.contains { $0.length == 0 && $0.metric == 100 } == true)
    }

    @Test(arguments: [UInt16(20), 21, 25])
    func `an event requests the whole table again`(_ event: UInt16) {
        var conversation = informed
        #expect(conversation.take(message(event)).map(type) == [18])
        // Another event during the dump requests one more at its end.
        #expect(conversation.take(message(event) + message(event)) == [])
        #expect(conversation.take(RecordedTables.answer(links, to: 3)).map(type) == [26])
        #expect(conversation.take(RecordedTables.answer(routes, to: 4)).map(type) == [18])
        #expect(conversation.table != nil)
    }

    @Test func `a repeated message about an interface is not an event`() {
        var conversation = informed
        // The first message of the recording, of `lo`, which is up.
        let up = Array(RecordedTables.answer(links, to: 0).prefix(40))
        #expect(conversation.take(up) == [])
        var down = up
        down[24] = 0
        #expect(conversation.take(down).map(type) == [18])
        // A port that leaves a bridge is not an interface that goes.
        var other = informed
        #expect(other.take(message(17, [7, 0, 0, 0])) == [])
        #expect(other.take(message(17)).map(type) == [18])
    }

    @Test func `lost events request the whole table again`() {
        var conversation = informed
        #expect(type(conversation.overrun()) == 18)
        #expect(conversation.overrun() == nil, "one dump at a time")
        _ = conversation.take(RecordedTables.answer(links, to: 3))
        #expect(conversation.take(RecordedTables.answer(routes, to: 4)).map(type) == [18])
    }

    @Test func `a dump that was interrupted by a change is requested again`() {
        var conversation = NetlinkDump()
        _ = conversation.begin()
        _ = conversation.take(message(3, flags: 0x12, sequence: 1))
        #expect(conversation.take(RecordedTables.answer(routes, to: 2)).map(type) == [18])
    }

    @Test func `a refusal waits for the next event`() {
        var conversation = informed
        _ = conversation.take(message(20))
        let busy = withUnsafeBytes(of: Int32(-16)) { Array($0) }
        #expect(conversation.take(message(2, sequence: 3, busy)) == [])
        #expect(conversation.table != nil)
        #expect(conversation.take(message(20)).map(type) == [18])
    }

    @Test func `an answer to an earlier request is ignored`() {
        var conversation = informed
        let table = conversation.table
        _ = conversation.take(message(20))
        #expect(conversation.take(message(3, sequence: 2)) == [])
        #expect(conversation.table == table)
    }
}
