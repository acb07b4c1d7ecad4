package import Commands

/// The events that monitors read from `events.sock`: a topic, a space, JSON. Writers append to one buffer, so
/// that an event costs no allocation.
package enum Event {
    /// Topics, in the order of a snapshot.
    package static let topics = [
        "worker/", "link/", "bandwidth/", "counts", "status/", "progress/", "gap/", "collection/",
        "endpoint/", "response/", "schedule/", "flow/", "metrics/",
    ]

    package static func status(_ event: StatusEvent, snapshot: Bool = false, to writer: inout JSONWriter) {
        writer.raw("status/")
        writer.raw(event.transition.id)
        writer.raw(" ")
        writer.beginObject()
        event.writeMembers(to: &writer)
        finish(&writer, snapshot: snapshot)
    }

    package static func progress(_ transfer: TransferReport.Transfer, at: Timestamp, to writer: inout JSONWriter) {
        writer.raw("progress/")
        writer.raw(transfer.id)
        writer.raw(" ")
        writer.beginObject()
        writer.member("offset", transfer.offset)
        writer.member("total", transfer.total)
        writer.member("rate", transfer.rate)
        if transfer.isVerifying { writer.member("phase", "verifying") }
        if transfer.isAwaitingResponse {
            writer.member("phase", "awaitingResponse")
            writer.member("waited", Int64((transfer.firstByte ?? .zero) / .milliseconds(1)))
        }
        writer.member("at", at)
        writer.endObject()
    }

    package static func bandwidth(
        _ link: TransferReport.Link, worker: Int, at: Timestamp, snapshot: Bool = false, to writer: inout JSONWriter
    ) {
        writer.raw("bandwidth/")
        writer.raw(link.destination.text)
        writer.raw(" ")
        writer.beginObject()
        writer.member("direction", link.direction.rawValue)
        writer.member("bytes", link.allBytes)
        writer.member("goodput", link.rate)
        // Milliseconds, with one decimal.
        let roundTrip = link.roundTrip.map { ($0 / .microseconds(100)).rounded(.down) / 10 }
        writer.member("srtt", roundTrip.map { .number($0) } ?? .null)
        writer.member("inFlight", link.inFlight)
        writer.member("worker", worker)
        writer.member("at", at)
        finish(&writer, snapshot: snapshot)
    }

    /// - Parameters:
    ///   - name: a destination, or `*` for the host's uplink.
    ///   - members: the fields of the link's event.
    package static func link(
        _ name: String, _ members: [JSONValue.Member], at: Timestamp, snapshot: Bool = false,
        to writer: inout JSONWriter
    ) {
        writer.raw("link/")
        writer.raw(name)
        writer.raw(" ")
        var members = members
        members.append(.init("at", .string(at.description)))
        if snapshot { members.append(.init("snapshot", true)) }
        writer.value(.object(members))
    }

    package static func worker(
        seat: Int, pid: Int32, state: String, concurrency: Int, inFlight: Int, at: Timestamp, snapshot: Bool = false,
        to writer: inout JSONWriter
    ) {
        writer.raw("worker/")
        writer.raw("\(seat)" as String)
        writer.raw(" ")
        writer.beginObject()
        writer.member("pid", Int64(pid))
        writer.member("state", state)
        writer.member("concurrency", concurrency)
        writer.member("inFlight", inFlight)
        writer.member("at", at)
        finish(&writer, snapshot: snapshot)
    }

    package static func counts(
        _ counts: [(CommandStatus, Int)], at: Timestamp, snapshot: Bool = false, to writer: inout JSONWriter
    ) {
        writer.raw("counts ")
        writer.beginObject()
        for (status, count) in counts { writer.member(status.memberName, count) }
        writer.member("at", at)
        finish(&writer, snapshot: snapshot)
    }

    package static func flow(
        _ flow: FlowState, at: Timestamp, snapshot: Bool = false, to writer: inout JSONWriter
    ) {
        writer.raw("flow/")
        writer.raw(flow.command.id)
        writer.raw(" ")
        writer.beginObject()
        writer.member("name", flow.name)
        writer.member("status", flow.command.status.name)
        writer.member("nodes", flow.nodes)
        writer.member("ended", flow.nodes - flow.open)
        writer.member("failed", flow.failed)
        writer.member("at", at)
        finish(&writer, snapshot: snapshot)
    }

    package static func gap(shard: Int, from: Int64, to: Int64, writer: inout JSONWriter) {
        writer.raw("gap/")
        writer.raw("\(shard)" as String)
        writer.raw(" ")
        writer.beginObject()
        writer.member("shard", shard)
        writer.member("from", from)
        writer.member("to", to)
        writer.endObject()
    }

    /// Splits a frame into topic and body; nil for bytes that are not an event.
    package static func parse(_ frame: [UInt8]) -> (topic: String, body: JSONValue)? {
        guard let space = frame.firstIndex(of: UInt8(ascii: " ")),
            let topic = String(validating: frame[..<space], as: UTF8.self),
            let body = try? JSONValue(parsing: frame[frame.index(after: space)...])
        else { return nil }
        return (topic, body)
    }

    private static func finish(_ writer: inout JSONWriter, snapshot: Bool) {
        if snapshot { writer.member("snapshot", true) }
        writer.endObject()
    }
}

/// An event that an execution or its worker publishes: its topic and a JSON object. It passes through the
/// coordinator unchanged, and may be lost.
package struct Published: Sendable, Equatable {
    /// The first parts of the topics that executions and workers may publish.
    package static let topics = ["collection/", "endpoint/", "response/", metrics]
    /// Begins the topics of the measurements of a process, which go on with its name.
    package static let metrics = "metrics/"
    package static let maxTopic = 255
    package static let maxBody = 16 << 10

    package var topic: String
    /// A JSON object on one line.
    package var body: String

    package init(topic: String, body: String) {
        self.topic = topic
        self.body = body
    }

    /// Whether monitors may get it.
    package var isValid: Bool {
        Self.topics.contains { topic.utf8.starts(with: $0.utf8) } && topic.utf8.count <= Self.maxTopic
            && topic.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F } && body.utf8.count <= Self.maxBody
            && body.utf8.first == UInt8(ascii: "{") && body.utf8.allSatisfy { $0 >= 0x20 }
    }
}

extension Published {
    init(from reader: inout ByteReader) throws(WireError) {
        topic = try reader.text8("topic")
        body = try reader.text16("body")
    }

    func write(to writer: inout ByteWriter) {
        writer.text8(topic)
        writer.text16(body)
    }
}
