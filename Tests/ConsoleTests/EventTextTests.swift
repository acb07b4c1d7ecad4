import Commands
import Testing

@testable import Console

@Suite struct EventTextTests {
    private func lines(_ events: [(topic: String, body: String)]) throws -> [String] {
        var text = EventText()
        return try events.compactMap { text.line(topic: $0.topic, body: try JSONValue(parsing: $0.body.utf8)) }
    }

    @Test func `each transition of a command is a line with its reason`() throws {
        let at = #""at":"2026-11-28T21:05:07.123Z""#
        #expect(
            try lines([
                (
                    "status/a",
                    #"{"status":"error","type":"upload","destination":"https://h","reason":"500\u001b[2J",\#(at)}"#
                ),
                ("status/a", #"{"status":"success","type":"noop","destination":null,"reason":null,\#(at)}"#),
                ("status/a", #"{"status":"sent","type":"noop","snapshot":true,\#(at)}"#),
            ]) == ["21:05:07 a error upload https://h: 500 [2J", "21:05:07 a success noop"])
    }

    @Test func `a link or worker is a line only when it has changed, and measurements are none`() throws {
        let good = ("link/https://h", #"{"direction":"up","level":"good","reason":null}"#)
        let poor = ("link/https://h", #"{"direction":"up","level":"poor","reason":"slow"}"#)
        let worker = ("worker/0", #"{"state":"ready","pid":7}"#)
        #expect(
            try lines([good, good, poor, poor, worker, worker, ("bandwidth/https://h", "{}"), ("progress/a", "{}")])
                .map { $0.trimmingPrefix(" ") } == [
                    "link https://h up good", "link https://h up poor: slow", "worker 0 ready, pid 7",
                ])
    }
}
