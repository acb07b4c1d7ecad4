/// The outcome of bringing a shard to the version of this program.
package enum ShardMigration: Sendable, Equatable {
    /// It has this version or a newer one.
    case notNeeded
    case migrated(from: Int)
    /// These workers have a session and do not know the version.
    case prevented(version: Int, by: [Session])
}
