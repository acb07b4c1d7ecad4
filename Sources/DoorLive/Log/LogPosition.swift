/// How far a reader of transitions is: the number of the last transition that it has, of each shard.
struct LogPosition: Sendable, Hashable {
    var numbers: [Int64]

    init(_ numbers: [Int64]) { self.numbers = numbers }

    /// Reads ``text``. `0` is the start of every shard.
    /// - Returns: nil for another number of shards, and for anything else than numbers from 0.
    init?(_ text: some StringProtocol, shardCount: Int) {
        if text == "0" {
            numbers = Array(repeating: 0, count: shardCount)
            return
        }
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        numbers = parts.compactMap { part in
            part.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } ? Int64(part) : nil
        }
        guard parts.count == shardCount, numbers.count == shardCount else { return nil }
    }

    /// The id of an event: `17.4.0.9`.
    var text: String { numbers.map(String.init).joined(separator: ".") }
}
