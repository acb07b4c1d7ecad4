internal import Commands

/// A payload or result as the store has it, in lines: the characters of its values stay, because a viewer that parses numbers
/// changes large ones.
struct StoredText: Sendable, Equatable {
    static let maxShown = 32 << 10
    /// Levels that are indented; deeper ones have the same margin.
    private static let maxIndent = 16

    let text: String
    /// Bytes of the whole.
    let size: Int
    let isCut: Bool

    /// - Parameter redact: removes secrets. Where it removes something, its value is shown instead of the stored text.
    init(_ bytes: [UInt8], redact: (JSONValue) -> JSONValue) {
        size = bytes.count
        var shown = Array(bytes.prefix(Self.maxShown + 1))
        if let value = try? JSONValue(parsing: bytes) {
            let redacted = redact(value)
            shown = Self.lines(redacted != value ? redacted.bytes : bytes)
        }
        isCut = shown.count > Self.maxShown
        text = String(decoding: shown.prefix(Self.maxShown), as: UTF8.self)
    }

    /// JSON with one member or element a line, up to a little more than ``maxShown`` bytes.
    /// - Parameter json: valid JSON.
    static func lines(_ json: [UInt8]) -> [UInt8] {
        var lines: [UInt8] = []
        var depth = 0
        var (isString, isEscaped) = (false, false)
        func newLine() {
            lines.append(UInt8(ascii: "\n"))
            lines += [UInt8](repeating: UInt8(ascii: " "), count: 2 * min(depth, maxIndent))
        }
        for byte in json {
            guard lines.count <= maxShown else { break }
            if isString {
                lines.append(byte)
                if !isEscaped, byte == UInt8(ascii: "\"") { isString = false }
                isEscaped = !isEscaped && byte == UInt8(ascii: "\\")
                continue
            }
            switch byte {
            case UInt8(ascii: " "), UInt8(ascii: "\n"), UInt8(ascii: "\r"), UInt8(ascii: "\t"): continue
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                lines.append(byte)
                depth += 1
                newLine()
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
                // An empty object or array stays in its line.
                if let last = lines.last(where: { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\n") }),
                    last == UInt8(ascii: "{") || last == UInt8(ascii: "[")
                {
                    while lines.last != last { lines.removeLast() }
                } else {
                    newLine()
                }
                lines.append(byte)
            case UInt8(ascii: ","):
                lines.append(byte)
                newLine()
            case UInt8(ascii: ":"): lines += [byte, UInt8(ascii: " ")]
            case UInt8(ascii: "\""):
                isString = true
                lines.append(byte)
            default: lines.append(byte)
            }
        }
        return lines
    }
}
