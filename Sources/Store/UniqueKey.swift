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

    /// SHA-256 over the canonical payload (or what stands for it), type and destination: equal submits have equal ones.
    /// A large payload is parsed and sorted for it: not within a transaction.
    static func fingerprint(of draft: CommandDraft) -> [UInt8] {
        var hash = SHA256()
        let identity = draft.identity ?? draft.payload
        // A payload that is no JSON stands for itself.
        let canonical = (try? JSONValue(parsing: identity))?.canonical.bytes ?? identity
        hash.update(data: canonical)
        hash.update(data: [0])
        hash.update(data: Array(draft.type.utf8))
        hash.update(data: [0])
        hash.update(data: Array(draft.destination.text.utf8))
        return Array(hash.finalize())
    }
}
