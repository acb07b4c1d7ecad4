package import Commands

extension LinkReason {
    /// The members that the rule has.
    package var json: JSONValue {
        var members: [JSONValue.Member] = [.init("rule", .string(rule.rawValue))]
        for (name, value) in [("measured", measured), ("threshold", threshold), ("usual", usual), ("share", share)] {
            if let value { members.append(.init(name, .figure(value))) }
        }
        for (name, value) in [("count", count), ("total", total)] {
            if let value { members.append(.init(name, .integer(Int64(value)))) }
        }
        for (name, value) in [("subject", subject), ("text", text), ("uplink", uplink)] {
            if let value { members.append(.init(name, .string(value))) }
        }
        return .object(members)
    }

    /// Reads ``json`` back, and the sentence of version 0.1.0. Nil for any other value; a rule of a later
    /// version becomes ``Rule/recorded`` with its name.
    package init?(_ value: JSONValue) {
        if let sentence = value.string {
            self = .recorded(sentence)
            return
        }
        guard let name = value["rule"]?.string else { return nil }
        guard let rule = Rule(rawValue: name) else {
            self = .recorded(value["text"]?.string ?? name)
            return
        }
        self.init(
            rule, measured: value["measured"]?.double, threshold: value["threshold"]?.double,
            usual: value["usual"]?.double)
        share = value["share"]?.double
        count = value["count"]?.integer.flatMap { Int(exactly: $0) }
        total = value["total"]?.integer.flatMap { Int(exactly: $0) }
        subject = value["subject"]?.string
        text = value["text"]?.string
        uplink = value["uplink"]?.string
    }
}

extension JSONValue {
    /// A measured value: whole from 100 on, with four decimals below. Null where it is infinite.
    static func figure(_ value: Double) -> JSONValue {
        guard value.isFinite else { return .null }
        if value.magnitude >= 100 { return .integer(Int64(min(max(value, -9e18), 9e18).rounded())) }
        let rounded = (value * 10_000).rounded() / 10_000
        return rounded == rounded.rounded() ? .integer(Int64(rounded)) : .number(rounded)
    }
}
