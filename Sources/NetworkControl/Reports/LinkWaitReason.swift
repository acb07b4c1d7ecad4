package import Commands

/// Why commands of a quality of service wait for a link, or are slowed down on it.
///
/// `Instant` is `MonotonicTime` in the controller and `Timestamp` in a ``LinkReport``.
package struct LinkWaitReason<Instant: Sendable & Equatable>: Sendable, Equatable {
    /// The link, or the uplink above it, and its level.
    package var link: String
    package var level: LinkLevel
    /// The rule of the policy for the quality of service there.
    package var verb: PolicyVerb
    package var reason: LinkReason
    /// Nil where it did not begin at a known time.
    package var since: Instant?
    /// Nil where it is not known.
    package var remedy: LinkRemedy?

    package init(link: String, level: LinkLevel, verb: PolicyVerb, reason: LinkReason, since: Instant? = nil) {
        self.link = link
        self.level = level
        self.verb = verb
        self.reason = reason
        self.since = since
    }

    /// Commands may begin, and have not all of the link.
    package var isThrottle: Bool { if case .throttle = verb, level != .offline { true } else { false } }

    package func map<Other>(_ clock: (Instant) -> Other) -> LinkWaitReason<Other> {
        var other = LinkWaitReason<Other>(
            link: link, level: level, verb: verb, reason: reason, since: since.map(clock))
        other.remedy = remedy
        return other
    }
}

extension LinkWaitReason<Timestamp> {
    /// `{"link":…,"level":…,"verb":…,"reason":{…},"since":…,"remedy":{…}}`
    package var json: JSONValue {
        .object([
            .init("link", .string(link)), .init("level", .string(level.name)), .init("verb", .string(verb.name)),
            .init("reason", reason.json), .init("since", since.map { .string($0.description) } ?? .null),
            .init("remedy", remedy?.json ?? .null),
        ])
    }

    /// Reads ``json`` back, and the sentence of version 0.1.0, which says nothing of level and verb.
    init?(_ value: JSONValue) {
        if case .string = value {
            guard let reason = LinkReason(value) else { return nil }
            self.init(link: "", level: .unknown, verb: .pause, reason: reason)
            return
        }
        guard let link = value["link"]?.string, let verb = value["verb"]?.string.flatMap({ PolicyVerb(text: $0) }),
            let reason = value["reason"].flatMap({ LinkReason($0) })
        else { return nil }
        self.init(
            link: link, level: value["level"]?.string.flatMap { LinkLevel(name: $0) } ?? .unknown, verb: verb,
            reason: reason, since: value["since"]?.timestamp)
        remedy = value["remedy"].flatMap { LinkRemedy($0) }
    }
}
