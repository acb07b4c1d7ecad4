internal import Commands

/// The types of scalars by the core schema of YAML 1.2.2, section 10.3.2: `no`, `on`, `2026-01-01` and `1:30` are
/// strings.
enum YAMLCoreSchema {
    /// The tags of the schema start so; `!!` is its short form.
    static let tagPrefix = "tag:yaml.org,2002:"

    /// The value of a scalar without quotes and tag.
    /// - Returns: nil for a number that JSON cannot hold: infinity, not-a-number, and one beyond `Double`. An integer
    ///   beyond 64 bits becomes a `decimal`, as in JSON.
    static func value(of text: String) -> JSONValue? {
        guard let first = text.utf8.first else { return .null }
        switch first {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."):
            return number(text)
        case UInt8(ascii: "~"), UInt8(ascii: "n"), UInt8(ascii: "N"), UInt8(ascii: "t"), UInt8(ascii: "T"),
            UInt8(ascii: "f"), UInt8(ascii: "F"):
            switch text {
            case "~", "null", "Null", "NULL": return .null
            case "true", "True", "TRUE": return .bool(true)
            case "false", "False", "FALSE": return .bool(false)
            default: return .string(text)
            }
        default: return .string(text)
        }
    }

    /// The value of a scalar with a tag of the schema.
    /// - Parameter type: the tag without its prefix.
    /// - Returns: nil where the text is not a value of that type.
    static func value(of text: String, type: String) -> JSONValue? {
        if type == "str" { return .string(text) }
        guard let value = value(of: text) else { return nil }
        return switch (type, value) {
        case ("null", .null), ("bool", .bool), ("int", .integer), ("float", .number), ("float", .decimal): value
        case ("int", .decimal(let digits))
        where digits.utf8.allSatisfy { $0 != UInt8(ascii: ".") && $0 | 0x20 != UInt8(ascii: "e") }: value
        case ("float", .integer(let integer)): .number(Double(integer))
        default: nil
        }
    }

    /// Whether a tag without its prefix belongs to a scalar of the schema.
    static func isScalarType(_ type: String) -> Bool { ["str", "null", "bool", "int", "float"].contains(type) }

    private static func number(_ text: String) -> JSONValue? {
        if let based = based(text, prefix: "0o", digits: 0..<8) ?? based(text, prefix: "0x", digits: 0..<16) {
            if case .number(let number) = based, !number.isFinite { return nil }
            return based
        }
        var rest = text.utf8[...]
        if rest.first == UInt8(ascii: "+") || rest.first == UInt8(ascii: "-") { rest.removeFirst() }
        switch String(decoding: rest, as: UTF8.self) {
        case ".inf", ".Inf", ".INF": return nil
        case ".nan", ".NaN", ".NAN": return rest.count == text.utf8.count ? nil : .string(text)
        default: break
        }
        func skipDigits() -> Int {
            let digits = rest.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }.count
            rest.removeFirst(digits)
            return digits
        }
        let whole = skipDigits()
        var isInteger = true
        if rest.first == UInt8(ascii: ".") {
            isInteger = false
            rest.removeFirst()
            let fraction = skipDigits()
            guard whole > 0 || fraction > 0 else { return .string(text) }
        } else if whole == 0 {
            return .string(text)
        }
        if let letter = rest.first, letter | 0x20 == UInt8(ascii: "e") {
            isInteger = false
            rest.removeFirst()
            if rest.first == UInt8(ascii: "+") || rest.first == UInt8(ascii: "-") { rest.removeFirst() }
            guard skipDigits() > 0 else { return .string(text) }
        }
        guard rest.isEmpty else { return .string(text) }
        if isInteger, let integer = Int64(text) { return .integer(integer) }
        // As JSON keeps it, where JSON has this form of a number.
        if let exact = try? JSONValue(parsing: text.utf8) { return exact }
        guard let number = Double(text), number.isFinite else { return nil }
        return .number(number)
    }

    /// An integer in octal or hexadecimal; nil for any other text.
    private static func based(_ text: String, prefix: String, digits: Range<Int>) -> JSONValue? {
        guard text.utf8.starts(with: prefix.utf8), text.utf8.count > 2 else { return nil }
        var integer: Int64? = 0
        var number = 0.0
        for byte in text.utf8.dropFirst(2) {
            guard let digit = Character(Unicode.Scalar(byte)).hexDigitValue, digits.contains(digit) else { return nil }
            number = number * Double(digits.count) + Double(digit)
            if let known = integer {
                let (product, overflowed) = known.multipliedReportingOverflow(by: Int64(digits.count))
                let (sum, overflowedToo) = product.addingReportingOverflow(Int64(digit))
                integer = overflowed || overflowedToo ? nil : sum
            }
        }
        return integer.map { .integer($0) } ?? .number(number)
    }
}
