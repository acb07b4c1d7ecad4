internal import Commands
internal import Crypto

/// A unique key with its scope: the type and the ordering key of the command.
package struct UniqueKey: Sendable {
    package var type: String
    /// Empty without one.
    package var orderingKey: String
    package var key: String

    package init(type: String, orderingKey: String, key: String) {
        self.type = type
        self.orderingKey = orderingKey
        self.key = key
    }

    /// The maximum bytes of UTF-8 of a key.
    static let maxLength = 512

    /// The last byte of the ids of commands with this key: it puts them all into one shard.
    static func shardByte(of key: String) -> UInt8 {
        var digest = SHA256.hash(data: Array(key.utf8)).makeIterator()
        return digest.next() ?? 0
    }

    /// SHA-256 over the payload (or ``CommandDraft/identity``), the type and the destination. Drafts with
    /// equal digests submit the same command. It covers bytes, not JSON values, because two numbers
    /// beyond 64 bits may parse to one value.
    static func digest(of draft: CommandDraft) -> [UInt8] {
        var hash = SHA256()
        hash.update(data: draft.identity ?? draft.payload)
        hash.update(data: [0])
        hash.update(data: Array(draft.type.utf8))
        hash.update(data: [0])
        hash.update(data: Array(draft.destination.text.utf8))
        return Array(hash.finalize())
    }
}

extension CommandDraft {
    /// The last byte of its id: by its ordering key, its unique key, else that of its parents; nil where the byte is
    /// random.
    var shardByte: UInt8? {
        (orderingKey ?? uniqueKey).map { UniqueKey.shardByte(of: $0) }
            ?? dependencies.first.map { UInt8(truncatingIfNeeded: $0.parent.low) }
    }
}

/// Keys are compared by their bytes, as SQLite does it: two that differ only in their Unicode form are two
/// keys.
extension UniqueKey: Hashable {
    package static func == (left: UniqueKey, right: UniqueKey) -> Bool {
        left.type.utf8.elementsEqual(right.type.utf8) && left.orderingKey.utf8.elementsEqual(right.orderingKey.utf8)
            && left.key.utf8.elementsEqual(right.key.utf8)
    }

    package func hash(into hasher: inout Hasher) {
        for text in [type, orderingKey, key] {
            hasher.combine(text.utf8.count)
            for byte in text.utf8 { hasher.combine(byte) }
        }
    }
}

extension CommandID {
    /// The last byte of the ids of commands with this ordering key, or with this unique key and no ordering key.
    package static func shardByte(ofKey key: String) -> UInt8 { UniqueKey.shardByte(of: key) }
}

/// The command that holds a unique key.
struct UniqueKeyHolder {
    var id: CommandID
    var turn: Int64
    /// Nil: the command was submitted by release 0.1.0.
    var digest: [UInt8]?
    var period: UniquePeriod
    var submittedAt: Timestamp

    /// Whether the period is over, so that the next submit takes the key.
    func hasLapsed(at now: Timestamp) -> Bool { period.hasLapsed(since: submittedAt, at: now) }

    /// The error of a draft with the same key and another payload or destination.
    func conflict(over key: String) -> StoreError {
        StoreError(
            .conflict,
            "The unique key “\(key)” belongs to \(id), which has another payload or destination; it is held "
                + "\(period.end(since: submittedAt)).", id: id)
    }
}
