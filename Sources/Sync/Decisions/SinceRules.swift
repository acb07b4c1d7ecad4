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
