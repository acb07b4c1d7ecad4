package import Commands

extension WebhookEndpointState {
    /// Why and since when messages to the endpoint, or to URLs of it, wait; nil where none does.
    /// - Parameter name: of the endpoint in sluice.yaml.
    package func reason(_ name: String) -> String? {
        guard let pause else { return gone.last.map { reason(name, $0, more: gone.count - 1) } }
        let why =
            switch pause.cause {
            case .gone: ": its receiver answered 410 (gone)"
            case .failing: ": its receiver has accepted no message for 3 days, after \(failures) attempts"
            case .person: " by a person"
            }
        return "the webhook endpoint “\(name)” is paused since \(pause.since)\(why)"
    }

    /// Why messages to one URL wait.
    package func reason(_ name: String, _ gone: Gone, more: Int = 0) -> String {
        "the webhook endpoint “\(name)” sends nothing to \(gone.url) since \(gone.since): its receiver answered 410 (gone)"
            + (more > 0 ? ", as at \(more) more \(more == 1 ? "URL" : "URLs")" : "")
    }

    /// The command line that lets its messages go on.
    package static func remedy(_ name: String) -> String { "sluice webhook resume \(name)" }

    /// `{"failures": 12, "failing": 86400000, "first": 1762900000000, "last": 1763000000000,
    /// "success": 1762800000000, "gone": [["https://h.example/a", "c0ffee", 1763000000000]]}`, and `"paused": "failing"` with `"since": 1763000000000` while it is paused.
    /// Times are Unix milliseconds, `failing` is milliseconds.
    package var members: [JSONValue.Member] {
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
        if !gone.isEmpty {
            let urls = gone.map { gone in
                JSONValue.array([
                    .string(gone.url), .string(String(gone.hash, radix: 16)), .integer(gone.since.milliseconds),
                ])
            }
            members.append(.init("gone", .array(urls)))
        }
        return members
    }

    private static func gone(_ value: JSONValue) -> Gone? {
        guard let parts = value.elements, parts.count == 3, let url = parts[0].string,
            let hash = parts[1].string.flatMap({ UInt64($0, radix: 16) }), let since = parts[2].integer
        else { return nil }
        return Gone(url: url, hash: hash, since: Timestamp(milliseconds: since))
    }

    /// - Returns: nil for a value of another form. Then the endpoint counts as active.
    package init?(_ value: JSONValue) {
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
            pause: pause, gone: value["gone"]?.elements?.compactMap(Self.gone) ?? [], failures: Int(failures),
            failing: .milliseconds(failing), firstFailure: time("first"),
            lastFailure: time("last"), lastSuccess: time("success"))
    }
}
