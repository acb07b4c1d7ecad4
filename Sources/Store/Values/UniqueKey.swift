internal import Commands
internal import Crypto

/// What a unique key is unique among, and what tells an equal submit from another one.
struct UniqueKey {
    var type: String
    var orderingKey: String
    var key: String

    /// Bytes of UTF-8 that a key may have.
    static let limit = 512

    /// The byte that names the shard: kin share one.
    static func shardByte(of key: String) -> UInt8 {
        var digest = SHA256.hash(data: Array(key.utf8)).makeIterator()
        return digest.next() ?? 0
    }

    /// SHA-256 over the bytes of the payload (or of what stands for it), the type and the destination: equal
    /// submits have equal ones. The bytes and not the JSON value, because two numbers beyond 64 bits may have
    /// one value.
    static func fingerprint(of draft: CommandDraft) -> [UInt8] {
        var hash = SHA256()
        hash.update(data: draft.identity ?? draft.payload)
        hash.update(data: [0])
        hash.update(data: Array(draft.type.utf8))
        hash.update(data: [0])
        hash.update(data: Array(draft.destination.text.utf8))
        return Array(hash.finalize())
    }
}

/// Keys are bytes: two that differ only in their Unicode form are two keys, in memory as in SQLite.
extension UniqueKey: Hashable {
    static func == (left: UniqueKey, right: UniqueKey) -> Bool {
        left.type.utf8.elementsEqual(right.type.utf8) && left.orderingKey.utf8.elementsEqual(right.orderingKey.utf8)
            && left.key.utf8.elementsEqual(right.key.utf8)
    }

    func hash(into hasher: inout Hasher) {
        for text in [type, orderingKey, key] {
            hasher.combine(text.utf8.count)
            for byte in text.utf8 { hasher.combine(byte) }
        }
    }
}
