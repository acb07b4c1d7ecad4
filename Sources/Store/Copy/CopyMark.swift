internal import Host

/// The mark of a store that a copy fills, or has left unfinished. Every program refuses such a store.
///
/// SQLite: the file `restoring` of the data directory, which begins with ``firstLine``. PostgreSQL: the row ``key`` of `meta`,
/// which begins with an id of the copy and a space. Both end with the arguments of the copy.
enum CopyMark {
    static let firstLine = "store copy\n"
    static let key = "copying"

    /// The stores as arguments in a shell.
    static func arguments(_ source: any CopySource, _ target: String) -> String {
        "\(quoted(source.name)) \(quoted(target))"
    }

    private static func quoted(_ name: String) -> String {
        let isPlain = name.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                true
            default: "/:@,.-_%+=".utf8.contains(byte)
            }
        }
        return isPlain ? name : "'\(name.replacing("'", with: #"'\''"#))'"
    }

    /// The arguments of the copy in the mark of a data directory; nil for the mark of a restore.
    static func arguments(inFile text: String?) -> String? {
        guard let text, text.hasPrefix(firstLine) else { return nil }
        return String(text.dropFirst(firstLine.count))
    }

    /// The arguments of the copy in the mark of a schema.
    static func arguments(inRow value: String) -> String { String(value.drop { $0 != " " }.dropFirst()) }

    /// Why the store is refused.
    static func sentence(_ store: String, arguments: String) -> String {
        "\(store): a copy to this store was interrupted, so the store is not complete; run “sluice store copy \(arguments)” "
            + "again."
    }
}
