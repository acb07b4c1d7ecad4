/// Why a record has no key.
enum KeyProblem: Error, Sendable, Equatable {
    case missing
    /// - Parameter kind: of the value: null, a boolean, an array or an object.
    case unsuitable(String)
    case empty
    case tooLong
    /// `\u0000`: SQLite's `json_extract` cuts the text there.
    case containsNUL

    /// Continues “the key at “/id””.
    var reason: String {
        switch self {
        case .missing: "is missing"
        case .unsuitable(let kind): "must be a string or a number, not \(kind)"
        case .empty: "is empty"
        case .tooLong: "has more than \(RecordKey.maxBytes) bytes"
        case .containsNUL: "contains the character U+0000"
        }
    }
}
