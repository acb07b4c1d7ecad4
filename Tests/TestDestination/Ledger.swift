import CLinux
import Commands

/// What was asked of the destination and what came, with times.
final class Ledger {
    /// Nanoseconds of CLOCK_MONOTONIC in a step.
    static let step: Int64 = 50_000_000

    final class Entry {
        let method: String
        let path: String
        let clientPort: Int
        let expected: Int64?
        let begin = clinux_monotonic()
        var end: Int64?
        var status: Int?
        /// Bytes of the body.
        private(set) var received: Int64 = 0
        private(set) var steps: [(number: Int64, bytes: Int64)] = []

        init(method: String, path: String, clientPort: Int, expected: Int64?) {
            self.method = method
            self.path = path
            self.clientPort = clientPort
            self.expected = expected
        }

        func add(_ bytes: Int) {
            received += Int64(bytes)
            let number = clinux_monotonic() / Ledger.step
            if let index = steps.indices.last, steps[index].number == number {
                steps[index].bytes += Int64(bytes)
            } else {
                steps.append((number, Int64(bytes)))
            }
        }
    }

    private var entries: [Entry] = []

    func begin(_ entry: Entry) { entries.append(entry) }

    func forget() { entries.removeAll { $0.end != nil } }

    /// Requests that run or ended since; their bytes since.
    func write(since: Int64, to json: inout JSONWriter) {
        json.name("requests")
        json.beginArray()
        for entry in entries where entry.end.map({ $0 >= since }) ?? true {
            json.beginObject()
            json.member("method", entry.method)
            json.member("path", entry.path)
            json.member("clientPort", entry.clientPort)
            if let expected = entry.expected { json.member("expected", expected) }
            json.member("begin", entry.begin)
            if let end = entry.end { json.member("end", end) }
            if let status = entry.status { json.member("status", status) }
            json.member("received", entry.received)
            json.name("steps")
            json.beginArray()
            for step in entry.steps where step.number >= since / Self.step {
                json.beginArray()
                json.value(step.number)
                json.value(step.bytes)
                json.endArray()
            }
            json.endArray()
            json.endObject()
        }
        json.endArray()
    }
}
