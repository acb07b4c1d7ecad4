internal import Glibc

/// The names of the objects that are open while a record is read, to find one that occurs twice.
///
/// Up to ``maxLinearNames`` names of an object are compared by their hashes one by one; most are told apart
/// by one bit of a mask. The names of a larger object are sorted when it closes, so a hostile record of 1 MiB
/// costs n log n.
struct NameRegister: Sendable {
    static let maxLinearNames = 16

    private struct Entry: Sendable {
        var hash: UInt64
        /// The position of the name in the record; or, in ``unescaped``, `~position`.
        var start: Int
        var count: Int
    }

    /// An object that is open.
    struct Open {
        fileprivate var first: Int
        /// A bit for each hash seen.
        fileprivate var mask: UInt64 = 0
    }

    private var entries: [Entry] = []
    /// The names that had an escape, one after the other.
    private var unescaped: [UInt8] = []

    mutating func removeAll() {
        entries.removeAll(keepingCapacity: true)
        unescaped.removeAll(keepingCapacity: true)
    }

    func open() -> Open { Open(first: entries.count) }

    /// Adds a name without escapes.
    /// - Returns: the bytes of the name where it is a duplicate that was found now.
    @inline(__always)
    mutating func insert(_ bytes: JSONBytes, _ name: Range<Int>, in object: inout Open) -> [UInt8]? {
        let hash = Self.hash(bytes, name)
        let entry = Entry(hash: hash, start: name.lowerBound, count: name.count)
        let bit: UInt64 = 1 << (hash >> 58)
        let mayBeKnown = object.mask & bit != 0
        object.mask |= bit
        defer { entries.append(entry) }
        return mayBeKnown ? duplicate(of: entry, bytes, in: object) : nil
    }

    /// Adds a name that has escapes.
    mutating func insertEscaped(_ bytes: JSONBytes, _ name: Range<Int>, in object: inout Open) -> [UInt8]? {
        let start = unescaped.count
        JSONUnescaping.append(bytes, name, to: &unescaped)
        let range = start..<unescaped.count
        let hash = unescaped.withUnsafeBufferPointer { Self.hash($0, range) }
        let entry = Entry(hash: hash, start: ~start, count: range.count)
        object.mask |= 1 << (hash >> 58)
        defer { entries.append(entry) }
        return duplicate(of: entry, bytes, in: object)
    }

    /// The last name that was added by ``insertEscaped(_:_:in:)``.
    func lastUnescaped<Result>(_ body: (JSONBytes) -> Result) -> Result? {
        guard let last = entries.last, last.start < 0 else { return nil }
        let start = ~last.start
        return unescaped.withUnsafeBufferPointer { body(JSONBytes(rebasing: $0[start..<start + last.count])) }
    }

    /// Ends an object.
    /// - Returns: a name that occurs twice in an object of more than ``maxLinearNames``.
    mutating func close(_ object: Open, _ bytes: JSONBytes) -> [UInt8]? {
        let count = entries.count - object.first
        var found: [UInt8]?
        if count > Self.maxLinearNames { found = duplicateBySorting(from: object.first, bytes) }
        entries.removeLast(count)
        return found
    }

    private func duplicate(of entry: Entry, _ bytes: JSONBytes, in object: Open) -> [UInt8]? {
        guard entries.count - object.first < Self.maxLinearNames else { return nil }
        return unescaped.withUnsafeBufferPointer { unescaped in
            let texts = Texts(record: bytes, unescaped: unescaped)
            for index in object.first..<entries.count
            where entries[index].hash == entry.hash && texts.order(entries[index], entry) == 0 {
                return texts.bytes(of: entry)
            }
            return nil
        }
    }

    private mutating func duplicateBySorting(from first: Int, _ bytes: JSONBytes) -> [UInt8]? {
        let unescaped = unescaped
        return unescaped.withUnsafeBufferPointer { unescaped in
            let texts = Texts(record: bytes, unescaped: unescaped)
            return entries.withUnsafeMutableBufferPointer { all in
                var names = UnsafeMutableBufferPointer(rebasing: all[first...])
                names.sort { $0.hash != $1.hash ? $0.hash < $1.hash : texts.order($0, $1) < 0 }
                for index in 1..<max(names.count, 1)
                where names[index - 1].hash == names[index].hash && texts.order(names[index - 1], names[index]) == 0 {
                    return texts.bytes(of: names[index])
                }
                return nil
            }
        }
    }

    /// Where the bytes of an entry stand.
    private struct Texts {
        let record: JSONBytes
        let unescaped: JSONBytes

        func text(of entry: Entry) -> JSONBytes {
            entry.start >= 0
                ? JSONBytes(rebasing: record[entry.start..<entry.start + entry.count])
                : JSONBytes(rebasing: unescaped[~entry.start..<(~entry.start + entry.count)])
        }

        func bytes(of entry: Entry) -> [UInt8] { Array(text(of: entry)) }

        /// Below, equal to or above 0, by length and then by bytes.
        func order(_ left: Entry, _ right: Entry) -> Int {
            guard left.count == right.count, left.count > 0 else { return left.count - right.count }
            guard let first = text(of: left).baseAddress, let second = text(of: right).baseAddress else { return 0 }
            return Int(memcmp(first, second, left.count))
        }
    }

    /// Mixes the first and last eight bytes and the length. Names that agree in all three are compared by
    /// their bytes.
    @inline(__always)
    private static func hash(_ bytes: JSONBytes, _ name: Range<Int>) -> UInt64 {
        var mixed: UInt64
        if name.count > 8 {
            let last = bytes.word(at: name.upperBound - 8)
            mixed = bytes.word(at: name.lowerBound) ^ (last << 23 | last >> 41)
        } else if name.lowerBound + 8 <= bytes.count {
            // The shift drops the bytes after the name; 64 of an empty name drops all.
            let excess = UInt64(8 - name.count) * 8
            mixed = bytes.word(at: name.lowerBound) << excess
        } else {
            mixed = 0
            for position in name { mixed = mixed >> 8 | UInt64(bytes[position]) << 56 }
        }
        mixed = (mixed ^ UInt64(truncatingIfNeeded: name.count)) &* 0x9E37_79B9_7F4A_7C15
        return mixed ^ mixed >> 29
    }
}
