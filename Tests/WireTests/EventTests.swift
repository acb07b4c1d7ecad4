import Commands
import TestSupport
import Testing
import Wire

struct EventTests {
    static let at = Timestamp(milliseconds: 1_772_368_496_789)
    static let id = CommandID(high: 0x018F_3C5E_9A7B_7C1D, low: 0x8E2F_0A1B_2C3D_4E5F)
    static let destination = Destination(scheme: "http", host: "h", port: 80)

    func written(_ write: (inout JSONWriter) -> Void) throws -> (topic: String, body: JSONValue) {
        var writer = JSONWriter()
        write(&writer)
        return try #require(Event.parse(writer.bytes))
    }

    func names(_ body: JSONValue) -> [String] { body.members?.map(\.name) ?? [] }

    func event(reason: String?, seat: Int?, destination: Destination = destination) -> StatusEvent {
        var transition = Transition(
            seq: 17, id: Self.id, status: .sent, at: Self.at, claim: 2, reason: reason)
        transition.seat = seat
        return StatusEvent(
            transition: transition,
            type: "upload", qos: .utility, destination: destination, retries: 1, shard: 3)
    }

    @Test func `a status event has the documented keys`() throws {
        let (topic, body) = try written { Event.status(event(reason: "say \"no\"", seat: 0), to: &$0) }
        #expect(topic == "status/\(Self.id)")
        #expect(
            body == [
                "id": .string("\(Self.id)"), "type": "upload", "qos": "utility", "status": "sent", "claim": 2,
                "retries": 1,
                "worker": 0, "destination": "http://h:80", "reason": "say \"no\"", "at": "2026-03-01T12:34:56.789Z",
                "shard": 3, "seq": 17,
            ])
    }

    @Test func `a status event without a worker, a destination or a reason has null there`() throws {
        let (_, body) = try written { Event.status(event(reason: nil, seat: nil, destination: .none), to: &$0) }
        #expect(body["worker"] == .null)
        #expect(body["destination"] == .null)
        #expect(body["reason"] == .null)
        #expect(body["snapshot"] == nil)
    }

    @Test func `a snapshot is marked`() throws {
        let events = [
            try written { Event.status(event(reason: nil, seat: 1), snapshot: true, to: &$0) },
            try written {
                Event.worker(
                    seat: 1, pid: 2, state: "ready", concurrency: 3, inFlight: 4, at: Self.at, snapshot: true, to: &$0)
            },
            try written {
                Event.link("*", [.init("level", "good")], at: Self.at, snapshot: true, to: &$0)
            },
            try written { Event.counts([(.new, 1)], at: Self.at, snapshot: true, to: &$0) },
        ]
        for event in events { #expect(event.body["snapshot"] == true, "\(event.topic)") }
    }

    @Test func `progress, bandwidth, link, worker, counts, gap and flow have the documented topics and keys`() throws {
        var transfer = TransferReport.Transfer(id: Self.id, claim: 1, link: 0, qos: .default)
        (transfer.offset, transfer.total, transfer.rate) = (5, 10, 2)
        let progress = try written { Event.progress(transfer, at: Self.at, to: &$0) }
        #expect(progress.topic == "progress/\(Self.id)")
        #expect(names(progress.body) == ["offset", "total", "rate", "at"])
        var verifying = transfer
        verifying.isVerifying = true
        let phase = try written { Event.progress(verifying, at: Self.at, to: &$0) }
        #expect(names(phase.body) == ["offset", "total", "rate", "phase", "at"])
        #expect(phase.body["phase"] == "verifying")

        let flow = TransferReport.Link(
            destination: Self.destination, direction: .up, bytes: [1, 2, 4], rate: 8, inFlight: 9,
            roundTrip: .microseconds(12_340))
        let bandwidth = try written { Event.bandwidth(flow, worker: 1, at: Self.at, to: &$0) }
        #expect(bandwidth.topic == "bandwidth/http://h:80")
        #expect(names(bandwidth.body) == ["direction", "bytes", "goodput", "srtt", "inFlight", "worker", "at"])
        #expect(bandwidth.body["bytes"] == 7 && bandwidth.body["goodput"] == 8)
        #expect(bandwidth.body["srtt"] == .number(12.3), "milliseconds")

        let link = try written {
            Event.link(
                "http://h:80", [.init("direction", "up"), .init("level", "offline")], at: Self.at, to: &$0)
        }
        #expect(link.topic == "link/http://h:80")
        #expect(names(link.body) == ["direction", "level", "at"])

        let worker = try written {
            Event.worker(seat: 3, pid: 42, state: "draining", concurrency: 16, inFlight: 2, at: Self.at, to: &$0)
        }
        #expect(worker.topic == "worker/3")
        #expect(names(worker.body) == ["pid", "state", "concurrency", "inFlight", "at"])

        let counts = try written { Event.counts(CommandStatus.allCases.map { ($0, 1) }, at: Self.at, to: &$0) }
        #expect(counts.topic == "counts")
        #expect(names(counts.body) == CommandStatus.allCases.map(\.name) + ["at"])

        let gap = try written { Event.gap(shard: 2, from: 5, to: 9, writer: &$0) }
        #expect(gap.topic == "gap/2")
        #expect(gap.body == ["shard": 2, "from": 5, "to": 9])

        let state = FlowState(
            command: Command(id: Self.id, type: "flow", destination: .none, createdAt: Self.at), name: "n", nodes: 5,
            open: 2, failed: 1)
        let nodes = try written { Event.flow(state, at: Self.at, to: &$0) }
        #expect(nodes.topic == "flow/\(Self.id)")
        #expect(names(nodes.body) == ["name", "status", "nodes", "ended", "failed", "at"])
        #expect(nodes.body["nodes"] == 5 && nodes.body["ended"] == 3 && nodes.body["failed"] == 1)

        for topic in [progress, bandwidth, link, worker, counts, gap, nodes].map(\.topic) {
            #expect(Event.topics.contains { topic.hasPrefix($0) }, "\(topic)")
        }
    }

    @Test func `bytes that are not an event are not parsed`() {
        for frame in ["", "status/x", "status/x ", "status/x {", "status/x {} {}"] {
            #expect(Event.parse(Array(frame.utf8)) == nil, "\(frame)")
        }
        #expect(Event.parse([0xFF, 0x20, 0x7B, 0x7D]) == nil)
    }

    @Test func `survives reasons of any text`() throws {
        var random = SeededRandom.announced("events")
        for _ in RandomRounds("events", 500...2000) {
            var report = Samples.report(&random).event
            report.transition.reason = String(decoding: random.bytes(random.number(in: 0..<30)), as: UTF8.self)
            let (_, body) = try written { Event.status(report, to: &$0) }
            #expect(body["reason"]?.string == report.transition.reason)
        }
    }
}
