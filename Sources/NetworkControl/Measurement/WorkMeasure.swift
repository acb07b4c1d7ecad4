/// The unit in which the throughput of a link is counted.
enum WorkMeasure: Sendable, Equatable {
    /// Bytes that peers acknowledged, and ``LinkWork/headBytes`` for each completion: 0.5 % of files of 100
    /// kB, and all of empty ones, so that the measure is the same for files of every size.
    case bytes
    /// Completions alone.
    case completions
}
