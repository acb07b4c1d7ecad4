internal import Commands
internal import HTTPClient
internal import Transfers

/// The point from which the next sync asks for changes, as the pages of a read give it. Pure.
struct SinceProgress: Sendable, Equatable {
    /// The `Date` of the first page's answer.
    private(set) var firstDate: Timestamp?
    /// The server's clock minus this host's.
    private(set) var clockOffset: Duration?
    /// From the body or from the header of `since`.
    private var token: String?
    private var greatest: RecordVersion?

    init() {}

    /// An answer to a page.
    /// - Parameters:
    ///   - number: of the page, from 1.
    ///   - date: its `Date` field.
    ///   - header: the field that `since` names.
    ///   - value: the token in its body.
    ///   - now: when it arrived, by this host's clock.
    mutating func page(
        number: Int64, date: String?, header: String?, value: EnvelopeValue, rule: SinceRule?, now: Timestamp
    ) {
        if number == 1, let date = date.flatMap(RetryAfter.date) {
            firstDate = date
            clockOffset = date - now
        }
        switch rule?.source {
        case .token:
            switch value {
            // The last page has the token of the whole read. Of times the first counts, as below.
            case .text(let text) where !text.isEmpty:
                if token == nil || Timestamp(rfc3339: text) == nil { token = text }
            case .number(let text): token = text
            case .missing, .null, .bool, .text, .container, .tooLong: break
            }
        case .header:
            guard let header, !header.isEmpty, header.utf8.count <= ScanPlan.maxValue else { break }
            guard let time = SinceRules.time(header) else {
                token = header
                break
            }
            // Of times the first counts: a record of page 1 may change while page 2 is read.
            if token == nil { token = SinceRules.text(time) }
        case .date, .version, nil: break
        }
    }

    /// A record of the list.
    mutating func record(_ version: RecordVersion?) {
        guard let version else { return }
        guard let known = greatest else {
            greatest = version
            return
        }
        if version.isLater(than: known) == true { greatest = version }
    }

    /// The token to store with the merge; nil: the next sync is a full read.
    /// - Parameters:
    ///   - end: of the pages. After a partial read nothing is known of the records that did not come, so the
    ///     token of the read before stays.
    ///   - read: the read that has ended.
    func token(_ rule: SinceRule?, after end: PagingEnd, of read: SyncRead) -> String? {
        var known: String?
        if case .delta(let token) = read { known = token }
        guard let rule, end == .complete else { return known }
        switch rule.source {
        case .token, .header: return token ?? known
        case .date: return firstDate.map(SinceRules.text) ?? known
        case .version: return versionToken(known) ?? known
        }
    }

    /// A version after the start of the sync would hide every change up to it, so it counts as the start. A
    /// server without a clock sets no such bound; then only numbers that are not times can be stored.
    private func versionToken(_ known: String?) -> String? {
        guard var latest = greatest else { return nil }
        if let time = SinceRules.time(of: latest) {
            guard let firstDate else { return nil }
            if time > firstDate { latest = SinceRules.version(firstDate, like: latest) }
        }
        if let known = known.flatMap(RecordVersion.init(stored:)), known.isLater(than: latest) == true { return nil }
        return latest.stored
    }
}

extension SinceProgress {
    init(_ value: JSONValue) {
        firstDate = value["first"]?.integer.map { Timestamp(milliseconds: $0) }
        clockOffset = value["clock"]?.integer.map { .milliseconds($0) }
        token = value["token"]?.string
        greatest = value["version"]?.string.flatMap(RecordVersion.init(stored:))
    }

    func write(_ writer: inout JSONWriter) {
        if let firstDate { writer.member("first", firstDate.milliseconds) }
        if let clockOffset { writer.member("clock", clockOffset.milliseconds) }
        if let token { writer.member("token", token) }
        if let greatest { writer.member("version", greatest.stored) }
    }
}
