/// A row of `lane`: an ordering key that a command holds or waits for. A key that none uses has no row.
struct LaneRow: Sendable, Equatable {
    var key: String
    /// Commands that may hold the key at once: 1 or more. The newest submit sets it.
    var limit: Int
    /// Commands that hold it.
    var open: Int
    /// The turn of the command that got it last.
    var holder: Int64?
}
