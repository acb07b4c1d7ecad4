internal import Commands
internal import HTTPClient
internal import Transfers

/// The marks of one version of a file, as its server states them (RFC 9110, section 8.8).
struct DownloadValidators: Sendable, Equatable {
    enum Comparison: Sendable, Equatable {
        /// Both answers are about the same bytes.
        case same
        case different
        /// The validators are weak or missing, so they decide nothing.
        case unknown
    }

    /// The minimum age of a file, by the server's own clock, from which its date is a strong validator. One
    /// second would be enough (section 8.8.2.2) if all nodes of a server had the same time.
    static let minDateAge: Duration = .seconds(60)
    private static let maxDateBytes = 40

    var tag: EntityTag?
    /// `Last-Modified` as the server has written it, because servers compare `If-Range` by its text.
    var lastModified: String?
    /// When the server made the answer.
    var date: Timestamp?

    /// Leaves out a tag that is not in quotes or not of visible ASCII, and a date that is not one: these
    /// cannot be sent back. Beside such a tag no date is strong.
    init(tag: String? = nil, lastModified: String? = nil, date: Timestamp? = nil) {
        self.tag = tag.flatMap { Self.isWellFormed($0) ? EntityTag($0) : nil }
        if let text = lastModified, text.utf8.count <= Self.maxDateBytes, text.utf8.allSatisfy({ $0 < 0x7F }),
            RetryAfter.date(text) != nil
        {
            self.lastModified = text
        }
        if tag == nil || self.tag != nil { self.date = date }
    }

    /// `entity-tag` of RFC 9110, section 8.8.3.
    private static func isWellFormed(_ tag: String) -> Bool {
        let quoted = tag.beginsWithBytes(of: "W/") ? tag.utf8.dropFirst(2) : tag.utf8[...]
        let quote = UInt8(ascii: "\"")
        return quoted.count >= 2 && quoted.first == quote && quoted.last == quote
            && quoted.dropFirst().dropLast().allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != quote }
    }

    var isEmpty: Bool { tag == nil && lastModified == nil }

    /// The value of `If-Range`; nil where no validator is strong. A date must not stand in for a tag, and not
    /// for a weak one either (RFC 9110, section 13.1.5).
    var ifRange: String? {
        if let tag { return tag.isWeak ? nil : tag.text }
        return hasStrongDate ? lastModified : nil
    }

    /// Whether a change of the file must have changed ``lastModified``.
    private var hasStrongDate: Bool {
        guard let date, let modified = lastModified.flatMap({ RetryAfter.date($0) }) else { return false }
        return date - modified >= Self.minDateAge
    }

    /// Compares the validators that are remembered with those of a later answer.
    func comparison(with answer: DownloadValidators) -> Comparison {
        if let tag, let other = answer.tag {
            guard tag.isSame(as: other) else { return .different }
            if !tag.isWeak, !other.isWeak { return .same }
        }
        guard let lastModified, let other = answer.lastModified else { return .unknown }
        guard lastModified.hasSameBytes(as: other) else { return .different }
        return tag == nil && hasStrongDate ? .same : .unknown
    }
}
