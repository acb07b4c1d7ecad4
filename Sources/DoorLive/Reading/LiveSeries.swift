package import Commands

/// Values of equal intervals, the oldest first.
package struct LiveSeries: Sendable, Equatable {
    /// The maximum number of values: an hour.
    package static let maxCount = 360

    /// The end of the last interval.
    package var end: Timestamp = .zero
    /// The length of an interval.
    package var interval: Duration = .seconds(10)
    /// A nil is a gap: nothing was heard in the interval. At most an hour.
    package var values: [Double?] = []

    package init() {}

    /// The end of the interval that contains `time`.
    package func end(after time: Timestamp) -> Timestamp {
        let length = max(interval.milliseconds, 1)
        let start = time.milliseconds - (time.milliseconds % length + length) % length
        return Timestamp(milliseconds: start + length)
    }

    /// Adds the value of an interval. Intervals between it and the last one are gaps. A clock that was set back begins
    /// the series again.
    package mutating func append(_ value: Double?, endingAt end: Timestamp) {
        let missing = (end - self.end).milliseconds / max(interval.milliseconds, 1) - 1
        if values.isEmpty || missing < 0 || missing >= Int64(Self.maxCount) {
            values = []
        } else {
            values += Array(repeating: nil, count: Int(missing))
        }
        values.append(value)
        if values.count > Self.maxCount { values.removeFirst(values.count - Self.maxCount) }
        self.end = end
    }
}
