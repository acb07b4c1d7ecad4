/// How much of the texts of operations and destinations the store keeps.
package enum StoredLimits {
    /// Bytes of a reason; the rest is cut between two characters.
    package static let reason = 2 << 10
    /// Bytes of a result. A stored response of 64 KiB takes up to six times as many where each of its bytes is escaped.
    package static let result = 512 << 10
    /// Bytes of a checkpoint. The table of the 10,000 parts of an S3 upload takes half of it.
    package static let checkpoint = 1 << 20

    /// A reason of at most ``reason`` bytes.
    package static func bounded(_ text: String) -> String {
        guard text.utf8.count > reason else { return text }
        var kept = ""
        var left = reason - "…".utf8.count
        for character in text {
            left -= character.utf8.count
            guard left >= 0 else { break }
            kept.append(character)
        }
        return kept + "…"
    }

    /// A result of at most ``result`` bytes. One that is larger is replaced by a sentence, because the command has
    /// succeeded all the same.
    package static func bounded(result bytes: [UInt8]) -> [UInt8] {
        guard bytes.count > result else { return bytes }
        let problem = "the result has \(bytes.count) bytes, and at most \(result) are kept"
        return JSONValue.object([.init("problem", .string(problem))]).bytes
    }
}
