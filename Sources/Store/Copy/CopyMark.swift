internal import Host

/// The mark of a store that a copy fills, or has left unfinished. Every program refuses such a store.
///
/// SQLite: the file `restoring` of the data directory, which begins with ``firstLine``. PostgreSQL: the row ``key`` of `meta`.
/// Both have the arguments of the copy.
enum CopyMark {
    static let firstLine = "store copy\n"
    static let key = "copying"

    static func arguments(_ source: any CopySource, _ target: String) -> String { "\(source.name) \(target)" }

    /// The arguments of the copy in the mark of a data directory; nil for the mark of a restore.
    static func arguments(inFile text: String?) -> String? {
        guard let text, text.hasPrefix(firstLine) else { return nil }
        return String(text.dropFirst(firstLine.count))
    }

    /// Why the store is refused.
    static func sentence(_ store: String, arguments: String) -> String {
        "\(store): a copy to this store was interrupted, so the store is not complete; run “sluice store copy \(arguments)” "
            + "again."
    }
}
