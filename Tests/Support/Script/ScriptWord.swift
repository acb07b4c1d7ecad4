/// A word of a line, a quoted text, or the end of a step.
enum ScriptWord: Equatable {
    case plain(String)
    case quoted([UInt8])
    case semicolon

    /// Splits a line into words.
    static func all(of line: some StringProtocol) throws(ScriptError) -> [ScriptWord] {
        var words: [ScriptWord] = []
        var bytes = Array(line.utf8)[...]
        while let first = bytes.first {
            switch first {
            case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r"): bytes.removeFirst()
            case UInt8(ascii: ";"):
                bytes.removeFirst()
                words.append(.semicolon)
            case UInt8(ascii: "\""): words.append(.quoted(try quoted(&bytes)))
            default:
                let word = bytes.prefix { !Array(" \t\r;\"".utf8).contains($0) }
                bytes = bytes.dropFirst(word.count)
                words.append(.plain(String(decoding: word, as: UTF8.self)))
            }
        }
        return words
    }

    private static func quoted(_ bytes: inout ArraySlice<UInt8>) throws(ScriptError) -> [UInt8] {
        bytes.removeFirst()
        var text: [UInt8] = []
        while let byte = bytes.popFirst() {
            switch byte {
            case UInt8(ascii: "\""): return text
            case UInt8(ascii: "\\"): text.append(try escaped(&bytes))
            default: text.append(byte)
            }
        }
        throw ScriptError(line: 0, problem: "a quotation mark is missing at the end")
    }

    private static func escaped(_ bytes: inout ArraySlice<UInt8>) throws(ScriptError) -> UInt8 {
        let mark = bytes.popFirst()
        switch mark {
        case UInt8(ascii: "r"): return 0x0D
        case UInt8(ascii: "n"): return 0x0A
        case UInt8(ascii: "t"): return 0x09
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): return mark ?? 0
        case UInt8(ascii: "x"):
            let digits = String(decoding: bytes.prefix(2), as: UTF8.self)
            if digits.utf8.count == 2, let byte = UInt8(digits, radix: 16) {
                bytes = bytes.dropFirst(2)
                return byte
            }
        default: break
        }
        throw ScriptError(
            line: 0, problem: "a backslash is followed by r, n, t, x and two hexadecimal digits, \\ or \"")
    }

    /// The text for messages.
    var text: String {
        switch self {
        case .plain(let word): word
        case .quoted(let bytes): "\"\(String(decoding: bytes, as: UTF8.self))\""
        case .semicolon: ";"
        }
    }
}
