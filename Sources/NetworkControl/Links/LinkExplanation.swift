internal import Host

/// Why the level of a link is what it is.
struct LinkExplanation: Sendable, Equatable {
    /// One plain sentence with the measure and the threshold.
    var reason: String
    /// The condition that lifts the level; nil where nothing is held back.
    var remedy: String?
    /// When the level was entered.
    var since: MonotonicTime
}
