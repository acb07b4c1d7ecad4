package import Commands

/// The effects of a worker's commit on commands that it does not hold.
package struct EffectsReport: Sendable, Equatable {
    /// Their transitions. They are reports of no execution: nothing of a fault is set.
    package var events: [StatusReport]
    /// The commands that may run now.
    package var ready: [ReadyCommand]
    /// Workers hold commands whose cancellation was requested.
    package var hasRequests: Bool

    package init(events: [StatusReport], ready: [ReadyCommand], hasRequests: Bool) {
        self.events = events
        self.ready = ready
        self.hasRequests = hasRequests
    }

    func write(to writer: inout ByteWriter) {
        writer.append(hasRequests ? 1 as UInt8 : 0)
        writer.uint16(events.count)
        for event in events.prefix(StatusReport.maxCount) { event.write(to: &writer) }
        Submitted(ready).write(to: &writer)
    }

    init(from reader: inout ByteReader) throws(WireError) {
        hasRequests = try reader.uint8("requests") != 0
        let count = try reader.uint16("events")
        events = []
        events.reserveCapacity(min(count, reader.remaining / StatusReport.minSize))
        for _ in 0..<count { events.append(try StatusReport(from: &reader)) }
        ready = try Submitted(from: &reader).commands
    }
}
