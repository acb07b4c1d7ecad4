/// The changes that a mend of a shard has made.
package struct ShardMend: Sendable, Equatable {
    /// A sentence for each change.
    package var changes: [String] = []
    /// The problems that remain, a sentence each.
    package var left: [String] = []

    package init() {}
}
