/// Where everything of one Sluice is: shards, spool, sockets, locks, keys.
package struct DataDirectory: Sendable, Hashable {
    package let path: String

    package init(path: String) { self.path = path }

    /// Sockets and locks.
    package var run: String { "\(path)/run" }
    package var spool: String { "\(path)/spool" }
    package var keys: String { "\(path)/keys" }
    package var configuration: String { "\(path)/sluice.yaml" }

    package func shard(_ number: Int) -> String { "\(path)/shard-\(number < 10 ? "0" : "")\(number).sqlite" }
}
