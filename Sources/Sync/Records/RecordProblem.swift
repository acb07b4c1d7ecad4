/// Why a record is not taken over. The record is counted and listed; the others of its page are not affected.
enum RecordProblem: Error, Sendable, Equatable {
    /// Malformed JSON.
    /// - Parameter at: bytes from the start of the record, from 0.
    case syntax(at: Int, String)
    /// Deeper than ``RecordReader/maxDepth``. SQLite's own limit is between 1,000 and 3,000.
    case nestedTooDeep
    /// The name of a member occurs twice in one object. SQLite would take the first, Python the last.
    case duplicateName(String)
    case invalidUTF8
    /// Half of a surrogate pair, as an escape.
    case loneSurrogate
    /// - Parameter bytes: its size.
    case tooLarge(bytes: Int, max: Int)
    case notAnObject(String)
    /// - Parameter field: the pointer to the key.
    case key(field: String, KeyProblem)
    /// The value at the pointer `deleted` is neither true, false nor null.
    case deletedFlag(field: String, String)

    /// The reason, in the result of the command.
    var reason: String {
        switch self {
        case .syntax(let at, let problem): "not valid JSON: \(problem), \(at) bytes after the start of the record"
        case .nestedTooDeep: "nested deeper than \(RecordReader.maxDepth)"
        case .duplicateName(let name): "the name “\(name.prefix(80))” occurs twice in one object"
        case .invalidUTF8: "a string is not valid UTF-8"
        case .loneSurrogate: "a string contains half of a surrogate pair"
        case .tooLarge(let bytes, let max): "\(bytes) bytes are more than “maxRecord” (\(max))"
        case .notAnObject(let kind): "the record must be an object, not \(kind)"
        case .key(let field, let problem): "the key at \(field) \(problem.reason)"
        case .deletedFlag(let field, let kind): "the value at \(field) must be true, false or null, not \(kind)"
        }
    }
}

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
