package import Commands
package import Host

/// Bytes counted in steps of time.
package struct ByteSteps: Sendable {
    /// The length of a step in nanoseconds. Step n begins at n times that length on CLOCK_MONOTONIC.
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

    /// The bytes between two times, in whole steps.
    package func bytes(from start: MonotonicTime, to end: MonotonicTime) -> Int64 {
        let range = start.nanoseconds / step..<max(start.nanoseconds, end.nanoseconds) / step
        return steps.reduce(0) { range.contains($1.number) ? $0 + $1.bytes : $0 }
    }

    package var total: Int64 { steps.reduce(0) { $0 + $1.bytes } }
}
