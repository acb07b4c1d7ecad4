/// Minutes of the local day within which something is allowed; over midnight where the end comes first.
package struct AllowedHours: Sendable, Equatable {
    /// Minutes after midnight, 0 to 1439.
    package var from: Int
    /// The first minute that is not allowed any more, 1 to 1440.
    package var to: Int

    package init(from: Int, to: Int) {
        self.from = from
        self.to = to
    }

    package func contains(minute: Int) -> Bool {
        from < to ? minute >= from && minute < to : minute >= from || minute < to
    }
}
