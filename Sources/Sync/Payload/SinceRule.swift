internal import Commands
internal import HTTPClient
internal import Operations
internal import Transfers

/// How a sync asks for changes only: the value of `since` in the payload.
///
/// ```
/// {"parameter": "updated_since",       gets the value; without it, a token is the URL of the next delta
///  "from": "token:/sync_token",        a token in the body
///          "header:X-Sync-Token",      a token, or a date, in a field of the answer
///          "date",                     the Date of the first page's answer
///          "version",                  the greatest version of the records
///  "overlap": 60,                      seconds to ask for again, with dates; 0 to 86,400
///  "fullEvery": 604800}                seconds from one full read to the next; 0: never again
/// ```
struct SinceRule: Sendable, Equatable {
    enum Source: Sendable, Equatable {
        case token(JSONPointer)
        case header(String)
        case date
        case version
    }

    static let defaultOverlap: Int64 = 60
    /// 7 days.
    static let defaultFullEvery: Int64 = 604_800

    var parameter: String?
    var source: Source
    private var overlapSeconds: Int64
    private var fullEverySeconds: Int64

    var overlap: Duration { .seconds(overlapSeconds) }
    /// Nil: a full read is never due.
    var fullEvery: Duration? { fullEverySeconds == 0 ? nil : .seconds(fullEverySeconds) }

    init(_ value: JSONValue) throws(PayloadError) {
        var reader = try PayloadReader.object(
            value, "since", keys: "“parameter”, “from”, “overlap” and “fullEvery”")
        parameter = try reader.name("parameter")
        source = try Self.source(try reader.text("from", isRequired: true) ?? "")
        overlapSeconds = try reader.seconds("overlap", in: 0...86_400) ?? Self.defaultOverlap
        fullEverySeconds = try reader.seconds("fullEvery", in: 0...366 * 86_400) ?? Self.defaultFullEvery
        try reader.finish()
        if parameter == nil, case .token = source { return }
        guard parameter != nil else {
            throw PayloadError(.data, "“parameter” is missing in “since”; only a token can be a URL of its own")
        }
    }

    private static func source(_ text: String) throws(PayloadError) -> Source {
        if text.beginsWithBytes(of: "token:") {
            return .token(try PayloadReader.pointer(String(text.dropFirst(6)), "from"))
        }
        if text.beginsWithBytes(of: "header:") {
            let name = String(text.dropFirst(7))
            guard HTTPHeaderRules.objection(to: name, value: "") == nil else {
                throw PayloadError(
                    .data, "“from” in “since” names the header “\(name.prefix(80))”, which cannot be the name of one")
            }
            return .header(name)
        }
        switch text {
        case "date": return .date
        case "version": return .version
        default:
            throw PayloadError(
                .data,
                "“from” in “since” is “\(text.prefix(80))”; it is “token:/pointer”, “header:Name”, “date” or “version”")
        }
    }

    /// Without the values that do not change the answers of the server.
    var identity: JSONValue {
        var rule = self
        (rule.overlapSeconds, rule.fullEverySeconds) = (Self.defaultOverlap, Self.defaultFullEvery)
        return rule.json
    }

    var json: JSONValue {
        var members: [JSONValue.Member] = []
        if let parameter { members.append(.init("parameter", .string(parameter))) }
        let from =
            switch source {
            case .token(let pointer): "token:\(pointer.text)"
            case .header(let name): "header:\(name)"
            case .date: "date"
            case .version: "version"
            }
        members.append(.init("from", .string(from)))
        if overlapSeconds != Self.defaultOverlap { members.append(.init("overlap", .integer(overlapSeconds))) }
        if fullEverySeconds != Self.defaultFullEvery { members.append(.init("fullEvery", .integer(fullEverySeconds))) }
        return .object(members)
    }
}
