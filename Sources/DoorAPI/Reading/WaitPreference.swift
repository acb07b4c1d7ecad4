internal import Commands
internal import Door
internal import HTTPTypes

/// How long a request waits for a change: `?wait=10`, or `Prefer: wait=10` (RFC 7240, section 4.3).
struct WaitPreference: Equatable {
    /// Proxies give up after a minute.
    static let maxSeconds = 30

    /// 1 to 30.
    let seconds: Int
    /// The field asked for it, and the response says so.
    let isPreference: Bool

    var time: Duration { .seconds(seconds) }

    /// - Returns: nil where the request does not wait.
    /// - Throws: 400 for a parameter of another form. A field of another form is ignored, as RFC 7240 wants it.
    init?(_ request: DoorRequest) throws(Problem) {
        if let text = request.query["wait"] {
            guard let seconds = Int(text), seconds >= 0 else {
                throw QueryReader.problem(
                    "“wait” is “\(text.excerpt)” and must be seconds, from 0 to \(Self.maxSeconds).")
            }
            guard seconds > 0 else { return nil }
            self.seconds = min(seconds, Self.maxSeconds)
            isPreference = false
            return
        }
        let preferences = request.fields[.prefer]?.split(whereSeparator: { ",; ".contains($0) }) ?? []
        guard let text = preferences.first(where: { $0.lowercased().hasPrefix("wait=") }),
            let seconds = Int(text.dropFirst(5)), seconds > 0
        else { return nil }
        self.seconds = min(seconds, Self.maxSeconds)
        isPreference = true
    }
}
