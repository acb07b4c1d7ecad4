/// A pattern for arguments of a payload: `*` stands for any text, `?` for one character, all else for itself.
/// Pure.
///
/// Two rules keep an argument from meaning more than the pattern shows. An argument that begins with `-`, an
/// option, needs a pattern that begins with `-`. An argument with a component `..`, which would leave
/// `/in/*`, matches no pattern.
struct ArgumentPattern: Sendable, Equatable {
    static let maxLength = 256
    /// Longer arguments match no pattern.
    static let maxArgument = 4096

    let text: String

    func matches(_ argument: String) -> Bool {
        let bytes = Array(argument.utf8)
        guard bytes.count <= Self.maxArgument, !bytes.contains(0) else { return false }
        if bytes.first == UInt8(ascii: "-"), text.utf8.first != UInt8(ascii: "-") { return false }
        let parent = [UInt8(ascii: "."), UInt8(ascii: ".")]
        guard !bytes.split(separator: UInt8(ascii: "/")).contains(where: { $0.elementsEqual(parent) }) else {
            return false
        }
        return Self.matches(Array(text.unicodeScalars), Array(argument.unicodeScalars))
    }

    /// Matches greedily: after a mismatch the last `*` takes one character more.
    private static func matches(_ pattern: [Unicode.Scalar], _ text: [Unicode.Scalar]) -> Bool {
        var (inPattern, inText) = (0, 0)
        var star: (pattern: Int, text: Int)?
        while inText < text.count {
            if inPattern < pattern.count, pattern[inPattern] == "*" {
                star = (inPattern, inText)
                inPattern += 1
            } else if inPattern < pattern.count, pattern[inPattern] == "?" || pattern[inPattern] == text[inText] {
                inPattern += 1
                inText += 1
            } else if let last = star {
                star = (last.pattern, last.text + 1)
                inPattern = last.pattern + 1
                inText = last.text + 1
            } else {
                return false
            }
        }
        return pattern[inPattern...].allSatisfy { $0 == "*" }
    }
}
