internal import Commands

/// Finds a name that occurs twice in one mapping.
struct UniqueNames {
    /// The number of names up to which a linear search is faster than a set.
    private static let maxLinear = 16

    private var names: Set<String> = []
    /// Used once two different names were equal as strings, because strings that differ only in their Unicode form are.
    /// Hashing bytes takes three times as long.
    private var bytes: Set<[UInt8]> = []

    /// - Parameter members: those with the names so far.
    /// - Returns: false for a name that is there already.
    mutating func insert(_ name: String, among members: [JSONValue.Member]) -> Bool {
        if members.count < Self.maxLinear {
            return !members.contains { $0.name == name && $0.name.hasSameBytes(as: name) }
        }
        if bytes.isEmpty {
            if names.isEmpty { names = Set(members.map(\.name)) }
            // A set of strings with fewer names than there are members has found such names before.
            if names.count == members.count, names.insert(name).inserted { return true }
            bytes = Set(members.map { Array($0.name.utf8) })
        }
        return bytes.insert(Array(name.utf8)).inserted
    }
}
