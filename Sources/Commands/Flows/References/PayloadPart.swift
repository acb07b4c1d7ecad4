/// A part of a payload: a literal, or a stand-in for the value of a reference.
indirect enum PayloadPart: Sendable, Equatable {
    /// A value without references.
    case literal(JSONValue)
    /// An array with references in its elements.
    case array([PayloadPart])
    /// An object with references in its members.
    case object([Member])
    /// `$result` and `$flow`: one value.
    case value(PayloadReference)
    /// `$results`: an array with the values in this order.
    case list([PayloadReference])
    /// `$text`: scalars, joined to a string.
    case text([PayloadPart])

    struct Member: Sendable, Equatable {
        var name: String
        var part: PayloadPart
    }

    /// The value of a literal; nil where the part depends on a reference.
    var literal: JSONValue? { if case .literal(let value) = self { value } else { nil } }

    /// The payload with `null` in place of each value that depends on a reference.
    var withHoles: JSONValue {
        switch self {
        case .literal(let value): value
        case .array(let parts): .array(parts.map(\.withHoles))
        case .object(let members): .object(members.map { JSONValue.Member($0.name, $0.part.withHoles) })
        case .value, .list, .text: .null
        }
    }
}
