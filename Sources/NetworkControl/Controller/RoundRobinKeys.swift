/// Keys that are visited in turn. To add, to remove and to take the next ones costs the same for any number
/// of keys. Pure.
struct RoundRobinKeys<Key: Hashable & Sendable>: Sendable {
    private var keys: [Key] = []
    private var positions: [Key: Int] = [:]
    private var cursor = 0

    mutating func insert(_ key: Key) {
        guard positions[key] == nil else { return }
        positions[key] = keys.count
        keys.append(key)
    }

    mutating func remove(_ key: Key) {
        guard let position = positions.removeValue(forKey: key), let last = keys.popLast() else { return }
        guard position < keys.count else { return }
        keys[position] = last
        positions[last] = position
    }

    mutating func next(_ maxCount: Int) -> ArraySlice<Key> {
        guard !keys.isEmpty else { return [] }
        if cursor >= keys.count { cursor = 0 }
        let end = min(cursor + maxCount, keys.count)
        defer { cursor = end }
        return keys[cursor..<end]
    }
}
