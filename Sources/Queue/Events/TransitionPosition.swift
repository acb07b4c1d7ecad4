/// How far a reader of transitions is: the number of the last transition that it has, of each shard of a store.
///
/// Store its ``text`` together with the results of the transitions, and go on there after a restart.
public struct TransitionPosition: Sendable, Hashable, CustomStringConvertible {
    /// By shard. Empty: before the first transition of every shard.
    package var numbers: [Int64]

    package init(_ numbers: [Int64]) { self.numbers = numbers }

    /// Before the oldest transition of any store.
    public static let start = TransitionPosition([])

    /// Reads ``text``: one number for each shard, joined by dots, or `0` for ``start``.
    /// - Returns: nil for any other text. Whether the store has as many shards is checked by
    ///   ``SluiceClient/events(since:matching:)``.
    public init?(_ text: some StringProtocol) {
        if text == "0" {
            self = .start
            return
        }
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        numbers = parts.compactMap { part in
            part.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } ? Int64(part) : nil
        }
        guard numbers.count == parts.count else { return nil }
    }

    /// As ``init(_:)``, for a store with this number of shards.
    package init?(_ text: some StringProtocol, shardCount: Int) {
        guard let position = TransitionPosition(text)?.filled(shardCount) else { return nil }
        self = position
    }

    /// With a number for each shard; nil where the position has another number of shards.
    package func filled(_ shardCount: Int) -> TransitionPosition? {
        if numbers.isEmpty { return TransitionPosition(Array(repeating: 0, count: shardCount)) }
        return numbers.count == shardCount ? self : nil
    }

    /// The numbers, joined by dots: `17.4.0.9`.
    public var text: String { numbers.isEmpty ? "0" : numbers.map(String.init).joined(separator: ".") }

    /// The ``text``.
    public var description: String { text }
}
