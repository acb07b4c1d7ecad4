/// The place of a command in the queue of its ordering key, at one moment.
public struct OrderingKeyState: Sendable, Equatable {
    public var key: String
    /// Commands that may hold the key at once.
    public var limit: Int
    /// Commands that hold it.
    public var open: Int
    /// The command that got the key last; nil where it is deleted.
    public var holder: Command?
    /// Commands that wait before this one; nil where this one holds the key.
    public var ahead: Int?

    package init(key: String, limit: Int, open: Int, holder: Command?, ahead: Int?) {
        self.key = key
        self.limit = limit
        self.open = open
        self.holder = holder
        self.ahead = ahead
    }
}
