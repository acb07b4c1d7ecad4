package import Commands

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
