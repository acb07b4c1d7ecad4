import Commands
import Store
import TestSupport

/// Batches whose clients and workers die.
extension Torture {
    /// `sluice batch submit`: members over all shards, and a callback.
    static let batchArguments = ["batch", "submit", "noop", "-", "--then-end", #"{"type":"noop"}"#]

    /// Seals the batches of killed clients before the drain, which would never end.
    func sealBatches(_ store: SQLiteStore) async throws {
        for shard in 0..<store.shardCount {
            for id in try store.openBatches(shard: shard, limit: 1000) {
                guard let batch = try store.batch(id), !batch.isSealed, !batch.command.status.isFinal else { continue }
                ledger.sealed(id)
                let seal = try await installation.sluice("batch", "seal", "\(id)")
                // Exit code 1: a cancellation came first.
                if ![0, 1].contains(seal.code) { ledger.unexpected("a batch cannot be sealed: \(seal.errors)") }
            }
        }
    }
}

/// Compares batches with their members and callbacks.
struct BatchChecker {
    private(set) var violations: [String] = []
    /// Batches that ended with their members.
    private(set) var ended = 0

    /// - Parameters:
    ///   - expected: the members that its client has sent; nil where the client has died, or is not known.
    ///   - members: the true times of the ends of the commands of the batch.
    ///   - callbacks: the true times of the transitions to `sent` of each callback.
    mutating func check(_ batch: BatchState, expected: Int?, members: [Timestamp?], callbacks: [[Timestamp?]]) {
        func violate(_ text: String) { violations.append("batch \(batch.command.id): \(text)") }
        guard batch.command.status.isFinal else { return violate("is \(batch.command.status)") }
        guard batch.open == 0 else { return violate("has ended, and \(batch.open) members have not") }
        if batch.members != members.count { violate("counts \(batch.members) members, and has \(members.count)") }
        if callbacks.count != 1 { violate("has \(callbacks.count) callbacks") }
        for callback in callbacks {
            guard let first = callback.first else {
                violate("its callback never ran")
                continue
            }
            if let first, let last = members.compactMap({ $0 }).max(), first < last {
                violate("its callback ran before a member ended")
            }
        }
        guard batch.command.status == .success else { return }
        ended += 1
        if let expected, batch.members != expected { violate("has \(batch.members) members of \(expected)") }
        if !batch.isSealed { violate("is a success, and was not sealed") }
    }
}
