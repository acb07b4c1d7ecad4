internal import Commands

/// The state that a program has reported so far. A later one replaces an earlier one.
struct ProgramReport: Sendable, Equatable {
    struct Progress: Sendable, Equatable {
        var offset: Int64
        /// 0: not known.
        var total: Int64
    }

    var progress: Progress?
    /// All values by their names, in the order of their first report.
    var values: [JSONValue.Member] = []
    /// The minimum wait before the next execution, should this one fail.
    var retryAfter: Duration?
}
