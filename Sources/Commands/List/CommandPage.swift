/// The direction of a list. Ids are ordered by the time of the submit.
public enum CommandOrder: Sendable {
    case oldestFirst, newestFirst

    /// Whether `left` comes before `right` in a list.
    package func precedes(_ left: CommandID, _ right: CommandID) -> Bool {
        self == .oldestFirst ? left < right : right < left
    }
}

/// A part of a list.
public struct CommandPage: Sendable {
    public var commands: [Command] = []
    /// Every command up to this one has been looked at, and the next page comes after it; nil: all have been.
    public var next: CommandID?
    /// Rows that were looked at.
    public var scanned = 0

    package init() {}
}
