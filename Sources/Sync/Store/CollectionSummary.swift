package import Commands

/// The state of a collection for people and programs to look at.
package struct CollectionSummary: Sendable {
    package var name: String
    /// Of the SQLite file.
    package var path: String
    package var rev: Int64 = 0
    /// A reader at an older revision reads all rows.
    package var oldestRev: Int64 = 0
    package var records: Int64 = 0
    /// Records that were changed here.
    package var localRecords: Int64 = 0
    /// Records that the last sync left out.
    package var rejects: Int64 = 0
    /// Records of a sync under way.
    package var staged: Int64 = 0
    package var syncedAt: Timestamp?
    /// Without its query.
    package var url: String?
    /// The command that was merged last.
    package var command: String?
    package var columns: [String] = []

    init(name: String, path: String) {
        self.name = name
        self.path = path
    }

    package var json: JSONValue {
        .object([
            .init("name", .string(name)), .init("rev", .integer(rev)), .init("records", .integer(records)),
            .init("local", .integer(localRecords)), .init("rejects", .integer(rejects)),
            .init("staged", .integer(staged)), .init("syncedAt", syncedAt.map { .string("\($0)") } ?? .null),
            .init("url", url.map { .string($0) } ?? .null), .init("command", command.map { .string($0) } ?? .null),
            .init("columns", .array(columns.map { .string($0) })), .init("oldestRev", .integer(oldestRev)),
            .init("path", .string(path)),
        ])
    }
}
