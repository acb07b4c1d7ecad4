/// The quotes that were imported, for programs that show them.
public actor QuoteTable {
    /// The rows, in the order of their imports.
    public private(set) var rows: [String] = []
    /// Whether another program changes the table.
    public var isLocked = false

    public init() {}

    /// Sets whether another program changes the table.
    public func setLocked(_ isLocked: Bool) { self.isLocked = isLocked }

    /// Replaces the rows from a position on, so that a second import of the same rows changes nothing.
    /// - Returns: false while the table is locked.
    func write(_ rows: [String], from position: Int) -> Bool {
        guard !isLocked else { return false }
        self.rows = Array(self.rows.prefix(position)) + rows
        return true
    }
}
