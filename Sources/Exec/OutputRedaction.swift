internal import Commands
internal import HTTPClient

/// Replaces secrets in the output of a program. Linear in the output for each secret. Pure.
struct OutputRedaction: Sendable {
    /// The minimum length of a secret in bytes. Shorter values occur by chance.
    private static let minLength = 5

    private let secrets: [BytePattern]

    /// - Parameter secrets: each line of one is a secret too, because a program may repeat a single line.
    init(_ secrets: [String]) {
        var values: Set<[UInt8]> = []
        for secret in secrets {
            let bytes = Array(secret.utf8)
            values.insert(bytes)
            for line in bytes.split(whereSeparator: { $0 == 0x0A || $0 == 0x0D }) { values.insert(Array(line)) }
        }
        self.secrets = values.filter { $0.count >= Self.minLength }.map { BytePattern($0) }
    }

    /// The bytes without the secrets.
    /// - Parameter kept: the part of the output that the bytes are, where it was truncated; nil: they are all
    ///   of it. A part of a secret at the cut, of at least 5 bytes, is replaced too.
    func clean(_ bytes: [UInt8], kept: OutputTail.Keep? = nil) -> [UInt8] {
        let ranges = secretRanges(bytes, kept)
        guard !ranges.isEmpty else { return bytes }
        var clean: [UInt8] = []
        var end = 0
        for range in ranges {
            clean += bytes[end..<range.lowerBound]
            clean += Array(HTTPHeaderRedaction.replacement.utf8)
            end = range.upperBound
        }
        clean += bytes[end...]
        return clean
    }

    /// The value without the secrets in its strings.
    func clean(_ value: JSONValue) -> JSONValue {
        guard !secrets.isEmpty else { return value }
        switch value {
        case .string(let text): return .string(String(decoding: clean(Array(text.utf8)), as: UTF8.self))
        case .array(let elements): return .array(elements.map { element in clean(element) })
        case .object(let members):
            return .object(members.map { member in JSONValue.Member(member.name, clean(member.value)) })
        default: return value
        }
    }

    /// The parts that are secrets, in their order. Occurrences that overlap are one part.
    private func secretRanges(_ bytes: [UInt8], _ kept: OutputTail.Keep?) -> [Range<Int>] {
        var found: [Range<Int>] = []
        for secret in secrets {
            let (ranges, partAtEnd) = secret.occurrences(in: bytes)
            found += ranges
            if kept == .head, partAtEnd >= Self.minLength { found.append(bytes.count - partAtEnd..<bytes.count) }
            if kept == .tail {
                let start = BytePattern(Array(bytes.prefix(secret.bytes.count)))
                let partAtStart = start.occurrences(in: secret.bytes).partAtEnd
                if partAtStart >= Self.minLength { found.append(0..<partAtStart) }
            }
        }
        found.sort { $0.lowerBound < $1.lowerBound }
        var merged: [Range<Int>] = []
        for range in found {
            if let last = merged.last, range.lowerBound < last.upperBound {
                merged[merged.count - 1] = last.lowerBound..<max(last.upperBound, range.upperBound)
            } else {
                merged.append(range)
            }
        }
        return merged
    }
}

/// Finds a sequence of bytes in linear time (Knuth, Morris and Pratt, 1977). Pure.
struct BytePattern: Sendable {
    let bytes: [UInt8]
    /// For each prefix the length of its longest border: a shorter prefix that is its suffix too.
    private let borders: [Int]

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        var borders = [Int](repeating: 0, count: bytes.count)
        var length = 0
        for index in bytes.indices.dropFirst() {
            while length > 0, bytes[index] != bytes[length] { length = borders[length - 1] }
            if bytes[index] == bytes[length] { length += 1 }
            borders[index] = length
        }
        self.borders = borders
    }

    /// All occurrences, also those that overlap.
    /// - Returns: `partAtEnd` is the length of the longest suffix of `text` that is a prefix of the pattern.
    func occurrences(in text: [UInt8]) -> (ranges: [Range<Int>], partAtEnd: Int) {
        guard !bytes.isEmpty else { return ([], 0) }
        var ranges: [Range<Int>] = []
        var length = 0
        for (index, byte) in text.enumerated() {
            while length > 0, length == bytes.count || byte != bytes[length] { length = borders[length - 1] }
            if byte == bytes[length] { length += 1 }
            if length == bytes.count { ranges.append(index + 1 - length..<index + 1) }
        }
        return (ranges, length)
    }
}
