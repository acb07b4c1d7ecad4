internal import HTTPClient

/// `Content-Range` of an answer (RFC 9110, section 14.4).
enum ContentRangeField: Sendable, Equatable {
    /// `bytes 0-41/1234`; the body has these bytes of the file.
    /// - total: bytes of the whole file; nil for `*`: the server does not know.
    case part(Range<Int64>, total: Int64?)
    /// `bytes */1234`: the file has this number of bytes, and the range asked for is beyond it.
    case unsatisfied(total: Int64)

    /// - Returns: nil for another unit and for a malformed or impossible range.
    init?(_ field: String) {
        let words = field.trimmed.split(separator: " ", maxSplits: 1)
        guard words.count == 2, words[0].lowercased() == "bytes" else { return nil }
        let parts = words[1].split(separator: "/", omittingEmptySubsequences: false).map(\.trimmed)
        guard parts.count == 2 else { return nil }
        let total = Self.number(parts[1])
        guard total != nil || parts[1] == "*" else { return nil }
        if parts[0] == "*" {
            guard let total else { return nil }
            self = .unsatisfied(total: total)
            return
        }
        let ends = parts[0].split(separator: "-", omittingEmptySubsequences: false).map { Self.number($0.trimmed) }
        guard ends.count == 2, let first = ends[0], let last = ends[1], first <= last, last < Int64.max,
            total.map({ last < $0 }) ?? true
        else { return nil }
        self = .part(first..<last + 1, total: total)
    }

    private static func number(_ text: String) -> Int64? {
        guard !text.isEmpty, text.utf8.allSatisfy(\.isDigit) else { return nil }
        return Int64(text)
    }
}
