internal import CLinux
package import Commands

/// A time of CLOCK_MONOTONIC, which all processes of a machine share.
package struct MonotonicMoment: Sendable, Hashable, Comparable {
    package var nanoseconds: Int64

    package init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    package static var now: MonotonicMoment { MonotonicMoment(nanoseconds: clinux_monotonic()) }

    package static func < (left: Self, right: Self) -> Bool { left.nanoseconds < right.nanoseconds }

    /// Seconds between two.
    package static func - (left: Self, right: Self) -> Double { Double(left.nanoseconds - right.nanoseconds) / 1e9 }

    package static func + (moment: Self, seconds: Double) -> Self {
        MonotonicMoment(nanoseconds: moment.nanoseconds + Int64(seconds * 1e9))
    }
}

/// Bytes in steps of time.
package struct ByteSteps: Sendable {
    /// Nanoseconds of a step; step n begins at n times that, by CLOCK_MONOTONIC.
    package var step: Int64
    package var steps: [(number: Int64, bytes: Int64)]

    package init(step: Int64, _ json: JSONValue?) {
        self.step = step
        steps = (json?.elements ?? []).compactMap { pair in
            guard let pair = pair.elements, pair.count == 2, let number = pair[0].integer, let bytes = pair[1].integer
            else { return nil }
            return (number, bytes)
        }
    }

    /// Bytes from one moment to another, by whole steps.
    package func bytes(from start: MonotonicMoment, to end: MonotonicMoment) -> Int64 {
        let range = start.nanoseconds / step..<max(start.nanoseconds, end.nanoseconds) / step
        return steps.reduce(0) { range.contains($1.number) ? $0 + $1.bytes : $0 }
    }

    package var total: Int64 { steps.reduce(0) { $0 + $1.bytes } }
}

/// What one TCP flow has put on the wire: payload before any queue, in steps of 10 ms, sent again counted again.
package struct SentFlow: Sendable {
    package var destination: String
    package var clientPort: Int
    package var serverPort: Int
    package var sent: ByteSteps

    init?(_ json: JSONValue, step: Int64) {
        guard let destination = json["destination"]?.string, let client = json["clientPort"]?.integer,
            let server = json["serverPort"]?.integer
        else { return nil }
        self.destination = destination
        clientPort = Int(client)
        serverPort = Int(server)
        sent = ByteSteps(step: step, json["steps"])
    }
}
