/// Minutes of the local day within which commands may begin; over midnight if the end is the smaller.
package struct AllowedHours: Sendable, Equatable {
    /// Minutes after midnight, 0 to 1439.
    package var from: Int
    /// The first minute after the allowed ones, 1 to 1440.
    package var to: Int

    package init(from: Int, to: Int) {
        self.from = from
        self.to = to
    }

    package func contains(minute: Int) -> Bool {
        from < to ? minute >= from && minute < to : minute >= from || minute < to
    }
}
