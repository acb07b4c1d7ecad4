/// A rate limit that commands name: how many of them may start in a time, and how many may run at once.
public struct RateLimit: Hashable, Sendable {
    public var starts: StartRate
    /// Starts in one moment, 1…``StartRate/maxBurst``; nil for ``StartRate/defaultBurst``.
    public var burst: Int?
    /// Commands that run at the same time, 1…``maxAtOnce``; nil: no limit.
    public var atOnce: Int?

    /// - Parameters:
    ///   - burst: nil, the default, for ``StartRate/defaultBurst``.
    ///   - atOnce: nil, the default, for no limit.
    public init(starts: StartRate, burst: Int? = nil, atOnce: Int? = nil) {
        self.starts = starts
        self.burst = burst
        self.atOnce = atOnce
    }

    /// The maximum of ``atOnce``.
    public static let maxAtOnce = 100_000
    /// For messages.
    package static let nameForm = "use 1 to 64 of A-Z, a-z, 0-9, “.”, “_” and “-”"

    /// Whether a text is a name of a limit: 1 to 64 of A-Z, a-z, 0-9, “.”, “_” and “-”.
    public static func isName(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy {
                switch $0 {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"):
                    true
                case UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"): true
                default: false
                }
            }
    }
}

extension RateLimit {
    /// `{"starts":"30/s","burst":5,"atOnce":null}`
    package var json: JSONValue {
        func number(_ value: Int?) -> JSONValue { value.map { .integer(Int64($0)) } ?? .null }
        return .object([
            .init("starts", .string(starts.description)), .init("burst", number(burst)),
            .init("atOnce", number(atOnce)),
        ])
    }

    /// Reads ``json`` back; nil for a value of another form.
    package init?(_ value: JSONValue) {
        guard let starts = value["starts"]?.string.flatMap({ StartRate(text: $0) }) else { return nil }
        func number(_ name: String, _ maximum: Int) -> Int? {
            value[name]?.integer.flatMap { Int(exactly: $0) }.flatMap { (1...maximum).contains($0) ? $0 : nil }
        }
        self.init(
            starts: starts, burst: number("burst", StartRate.maxBurst), atOnce: number("atOnce", Self.maxAtOnce))
    }

    /// Reads the value of a setting; nil for a value of another form.
    package init?(setting: String) {
        guard let value = try? JSONValue(parsing: setting.utf8) else { return nil }
        self.init(value)
    }
}
