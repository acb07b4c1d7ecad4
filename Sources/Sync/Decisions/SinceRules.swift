internal import Commands
internal import HTTPClient
internal import Transfers

/// How a sync asks for changes only. Pure.
///
/// The server's own times are used, never this host's. Changes are asked for from the stored point on, with
/// it, and with an overlap: records of equal time at the edge would be lost otherwise.
enum SinceRules {
    /// Whether the next read asks for changes or for the whole list.
    static func read(_ rule: SinceRule?, _ state: SyncState, now: Timestamp) -> SyncRead {
        guard let rule, let token = state.token else { return .full }
        if let period = rule.fullEvery {
            // A time in the future comes from a clock that was set back; then the age is unknown.
            guard let last = state.lastFull, now >= last, now - last < period else { return .full }
        }
        return .delta(token: token)
    }

    /// The URL of the first page.
    /// - Throws: ``CommandFailure`` where the token makes no valid URL.
    static func url(_ payload: SyncPayload, _ read: SyncRead) throws(CommandFailure) -> ResourceURL {
        guard case .delta(let token) = read, let rule = payload.since else { return payload.url }
        guard let parameter = rule.parameter else {
            guard let url = payload.url.page(token), url.destination == payload.url.destination else {
                throw CommandFailure(
                    .final,
                    reason: "the token of \(payload.url.displayText) is not a URL of the same origin; give “since” a "
                        + "“parameter” for it")
            }
            return url
        }
        guard let url = payload.url.setting(parameter, to: value(of: token, rule)) else {
            throw CommandFailure(
                .final,
                reason: "the URL \(payload.url.displayText) has more than \(ResourceURL.maxBytes) bytes with its "
                    + "token; submit a shorter one")
        }
        return url
    }

    /// The value of the parameter: the token; of a time, the time before the overlap.
    static func value(of token: String, _ rule: SinceRule) -> String {
        switch rule.source {
        case .token: return token
        case .header, .date: return Timestamp(rfc3339: token).map { text($0 + (.zero - rule.overlap)) } ?? token
        case .version:
            guard let version = RecordVersion(stored: token), let time = time(of: version) else { return token }
            return self.version(time + (.zero - rule.overlap), like: version).parameterText
        }
    }

    /// Whether an answer refuses the token, so that one full read follows without it. A second refusal in the
    /// same command is a failure like any other, as its read has no token.
    /// - Parameter start: the start of the body.
    static func isRefusal(status: Int, start: some Sequence<UInt8>, _ read: SyncRead, _ rule: SinceRule?) -> Bool {
        guard case .delta(let token) = read, let rule else { return false }
        let text = String(decoding: Array(start.prefix(4096)), as: UTF8.self)
        switch status {
        case 410: return true
        case 400:
            let names = [rule.parameter, token, value(of: token, rule), "token"].compactMap { $0?.lowercased() }
            let body = text.lowercased()
            return names.contains { !$0.isEmpty && body.contains($0) }
        // Electric: the shape was compacted or rotated.
        case 409: return text.contains("must-refetch")
        default: return false
        }
    }

    // MARK: Times

    /// RFC 3339 with whole seconds, which every server reads; earlier by less than a second.
    static func text(_ time: Timestamp) -> String {
        String(Timestamp(milliseconds: floor(time)).description.dropLast(5)) + "Z"
    }

    /// The time in a header field: a date of HTTP or RFC 3339.
    static func time(_ field: String) -> Timestamp? { Timestamp(rfc3339: field) ?? RetryAfter.date(field) }

    /// The time that a version is; nil for a number that cannot be seconds or milliseconds from 2001 to 2103.
    static func time(of version: RecordVersion) -> Timestamp? {
        switch version {
        case .instant(let time): return time
        case .number(_, let text):
            guard let number = Int64(text.prefix { $0 != "." }) else { return nil }
            if secondsRange.contains(number) { return Timestamp(milliseconds: number * 1000) }
            return secondsRange.contains(number / 1000) ? Timestamp(milliseconds: number) : nil
        }
    }

    /// A time in the form of another version.
    static func version(_ time: Timestamp, like version: RecordVersion) -> RecordVersion {
        guard case .number(_, let text) = version, let number = Int64(text.prefix { $0 != "." }) else {
            return .instant(time)
        }
        let digits = secondsRange.contains(number) ? floor(time) / 1000 : time.milliseconds
        return RecordVersion(stored: "\(digits)") ?? version
    }

    private static let secondsRange: Range<Int64> = 1_000_000_000..<4_200_000_000

    /// Milliseconds of the whole second before.
    private static func floor(_ time: Timestamp) -> Int64 {
        // The form of RFC 3339 ends long before this bound, and the subtraction below would overflow.
        let milliseconds = max(time.milliseconds, .min + 1000)
        let rest = milliseconds % 1000
        return milliseconds - (rest < 0 ? rest + 1000 : rest)
    }
}

extension RecordVersion {
    /// The version as the value of a parameter.
    fileprivate var parameterText: String {
        switch self {
        case .number(_, let text): text
        case .instant(let time): SinceRules.text(time)
        }
    }
}

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
