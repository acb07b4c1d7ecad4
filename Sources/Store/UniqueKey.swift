internal import Commands
internal import Crypto

/// What a unique key is unique among, and what tells an equal submit from another one.
struct UniqueKey: Hashable {
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

    /// SHA-256 over the canonical payload, type and destination: equal submits have equal ones.
    static func fingerprint(of draft: CommandDraft) -> [UInt8] {
        var hash = SHA256()
        // A payload that is no JSON stands for itself.
        let canonical = (try? JSONValue(parsing: draft.payload))?.canonical.bytes ?? draft.payload
        hash.update(data: canonical)
        hash.update(data: [0])
        hash.update(data: Array(draft.type.utf8))
        hash.update(data: [0])
        hash.update(data: Array(draft.destination.text.utf8))
        return Array(hash.finalize())
    }
}
