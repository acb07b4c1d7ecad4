package import Commands

/// The condition that lifts a level or a wait: the measure of a rule is better than a threshold for a time.
package struct LinkRemedy: Sendable, Equatable {
    package var rule: LinkReason.Rule
    /// In the unit of the rule; nil: any better value, or an event such as a probe that succeeds.
    package var threshold: Double?
    /// How long it must hold; nil: it lifts at once.
    package var duration: Duration?

    package init(_ rule: LinkReason.Rule, threshold: Double? = nil, for duration: Duration? = nil) {
        self.rule = rule
        self.threshold = threshold
        self.duration = duration
    }

    /// `{"rule":"goodput","threshold":325000,"seconds":3}`, without the members that are nil.
    package var json: JSONValue {
        .object(
            [.init("rule", .string(rule.rawValue))]
                + (threshold.map { [.init("threshold", .figure($0))] } ?? [])
                + (duration.map { [.init("seconds", .figure($0.seconds))] } ?? []))
    }

    /// Reads ``json`` back; nil for any other value, such as the sentence of version 0.1.0, and for a rule of
    /// a later version.
    package init?(_ value: JSONValue) {
        guard let rule = value["rule"]?.string.flatMap({ LinkReason.Rule(rawValue: $0) }) else { return nil }
        self.init(
            rule, threshold: value["threshold"]?.double,
            for: value["seconds"]?.double.flatMap { (0...1e9).contains($0) ? .seconds($0) : nil })
    }
}
