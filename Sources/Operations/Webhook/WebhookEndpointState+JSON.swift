internal import Commands

extension WebhookEndpointState {
    /// Why and since when the endpoint is paused; nil where it is active.
    /// - Parameter name: of the endpoint in sluice.yaml.
    package func reason(_ name: String) -> String? {
        guard let pause else { return nil }
        let why =
            switch pause.cause {
            case .gone: ": its receiver answered 410 (gone)"
            case .failing: ": its receiver has accepted no message for 3 days, after \(failures) attempts"
            case .person: " by a person"
            }
        return "the webhook endpoint “\(name)” is paused since \(pause.since)\(why)"
    }

    /// The command line that lets its messages go on.
    package static func remedy(_ name: String) -> String { "sluice webhook resume \(name)" }

    /// `{"failures": 12, "failing": 86400000, "first": 1762900000000, "last": 1763000000000,
    /// "success": 1762800000000}`, and `"paused": "failing"` with `"since": 1763000000000` while it is paused.
    /// Times are Unix milliseconds, `failing` is milliseconds.
    var members: [JSONValue.Member] {
        var members: [JSONValue.Member] = [
            .init("failures", .integer(Int64(failures))), .init("failing", .integer(failing.milliseconds)),
        ]
        let times = [("first", firstFailure), ("last", lastFailure), ("success", lastSuccess)]
        for case (let name, let time?) in times { members.append(.init(name, .integer(time.milliseconds))) }
        if let pause {
            members += [
                .init("paused", .string(pause.cause.rawValue)), .init("since", .integer(pause.since.milliseconds)),
            ]
        }
        return members
    }

    /// - Returns: nil for a value of another form. Then the endpoint counts as active.
    init?(_ value: JSONValue) {
        guard let failures = value["failures"]?.integer, (0...1_000_000).contains(failures),
            let failing = value["failing"]?.integer, failing >= 0
        else { return nil }
        var pause: Pause?
        if let name = value["paused"]?.string {
            guard let cause = Cause(rawValue: name), let since = value["since"]?.integer else { return nil }
            pause = Pause(cause: cause, since: Timestamp(milliseconds: since))
        }
        func time(_ name: String) -> Timestamp? { value[name]?.integer.map(Timestamp.init(milliseconds:)) }
        self.init(
            pause: pause, failures: Int(failures), failing: .milliseconds(failing), firstFailure: time("first"),
            lastFailure: time("last"), lastSuccess: time("success"))
    }
}
