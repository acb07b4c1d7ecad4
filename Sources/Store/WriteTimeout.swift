/// How long a write waits for the write lock of a shard while no other process writes to it (``WriterQueue``).
///
/// A turn lasts one commit: milliseconds, unless the process that holds the lock is stopped or its disk
/// hangs.
package enum WriteTimeout {
    /// For a write that a person or a producer waits for.
    package static let foreground: Duration = .seconds(10)
    /// For a write that can be done later, or in another shard.
    static let background: Duration = .seconds(1)
    /// For a batch of drafts that can go to other shards.
    static let batch: Duration = .milliseconds(30)
}
