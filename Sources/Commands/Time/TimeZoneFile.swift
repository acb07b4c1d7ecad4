/// A file of the time zone database: TZif (RFC 9636), from version 2 on.
struct TimeZoneFile: Sendable {
    /// Why bytes are not such a file, as words that follow the path and a colon.
    struct Malformed: Error {
        var problem: String
    }

    /// The offset before the first change.
    let firstOffset: Int64
    let changes: [TimeZoneChange]
    /// The rule after the last change; nil where the last offset holds for ever.
    let rule: PosixTimeZoneRule?

    /// - Parameter bytes: the whole file.
    init(parsing bytes: [UInt8]) throws(Malformed) {
        let first = try Header(bytes, at: 0)
        guard first.version >= UInt8(ascii: "2") else {
            throw Malformed(problem: "version 1 of the format ends in 2037; install a newer tzdata")
        }
        // The first block repeats the data in 32 bits for old readers.
        let header = try Header(bytes, at: Header.size + first.dataSize(timeSize: 4))
        guard header.leapCount == 0 else {
            throw Malformed(problem: "it counts leap seconds; use the zone of the same name outside of “right/”")
        }
        let start = header.position + Header.size
        let footer = start + header.dataSize(timeSize: 8)
        guard footer <= bytes.count else { throw Malformed(problem: "it ends within its data; install tzdata anew") }

        let types = start + header.timeCount * 9
        var offsets: [Int64] = []
        for index in 0..<header.typeCount {
            let offset = Int64(Int32(truncatingIfNeeded: Self.integer(bytes, at: types + index * 6, size: 4)))
            // The range that readers have to accept (RFC 9636, section 3.2), nearly 26 hours.
            guard (-93_599...93_599).contains(offset) else {
                throw Malformed(problem: "an offset of \(offset) s from UTC is out of range; install tzdata anew")
            }
            offsets.append(offset)
        }
        guard let firstOffset = offsets.first else {
            throw Malformed(problem: "it has no local time; install tzdata anew")
        }

        var changes: [TimeZoneChange] = []
        changes.reserveCapacity(header.timeCount)
        for index in 0..<header.timeCount {
            let instant = Int64(bitPattern: Self.integer(bytes, at: start + index * 8, size: 8))
            let type = Int(bytes[start + header.timeCount * 8 + index])
            guard type < offsets.count, instant > changes.last?.instant ?? .min, Self.instants.contains(instant) else {
                throw Malformed(problem: "its change \(index + 1) is damaged; install tzdata anew")
            }
            changes.append(TimeZoneChange(instant: instant, offset: offsets[type]))
        }
        self.firstOffset = firstOffset
        self.changes = changes
        rule = try Self.rule(bytes[footer...])
    }

    /// The instants that writers use (RFC 9636, section 3.2): within 2^59 s, 18 billion years, of 1970.
    private static let instants: ClosedRange<Int64> = (-1 << 59)...(1 << 59)

    /// Reads the footer: a rule, which may be empty, between two line feeds.
    private static func rule(_ bytes: ArraySlice<UInt8>) throws(Malformed) -> PosixTimeZoneRule? {
        guard bytes.first == 0x0A, let end = bytes.dropFirst().firstIndex(of: 0x0A) else {
            throw Malformed(problem: "its last line is missing; install tzdata anew")
        }
        let text = bytes[(bytes.startIndex + 1)..<end]
        guard !text.isEmpty else { return nil }
        guard let rule = PosixTimeZoneRule(parsing: text) else {
            throw Malformed(
                problem:
                    "cannot read its rule “\(String(decoding: text.prefix(80), as: UTF8.self))”; install tzdata anew")
        }
        return rule
    }

    /// A big-endian integer within the bounds of `bytes`.
    private static func integer(_ bytes: [UInt8], at position: Int, size: Int) -> UInt64 {
        bytes[position..<position + size].reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// The head of a block (RFC 9636, section 3.1).
    private struct Header {
        static let size = 44
        let position: Int
        let version: UInt8
        let isUTCount, isStandardCount, leapCount, timeCount, typeCount, characterCount: Int

        init(_ bytes: [UInt8], at position: Int) throws(Malformed) {
            guard position + Self.size <= bytes.count, bytes[position..<position + 4].elementsEqual("TZif".utf8) else {
                throw Malformed(problem: "it is not a time zone file (TZif); install tzdata anew")
            }
            self.position = position
            version = bytes[position + 4]
            func count(_ index: Int) -> Int { Int(TimeZoneFile.integer(bytes, at: position + 20 + index * 4, size: 4)) }
            (isUTCount, isStandardCount, leapCount) = (count(0), count(1), count(2))
            (timeCount, typeCount, characterCount) = (count(3), count(4), count(5))
        }

        /// The bytes after the head. Six counts of 32 bits cannot overflow.
        /// - Parameter timeSize: the bytes of one instant.
        func dataSize(timeSize: Int) -> Int {
            timeCount * (timeSize + 1) + typeCount * 6 + characterCount + leapCount * (timeSize + 4) + isStandardCount
                + isUTCount
        }
    }
}
