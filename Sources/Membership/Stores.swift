internal import Commands
package import Host
package import Store

/// Where the store of an installation is.
package enum StoreLocation: Sendable, Hashable {
    /// In the files of a data directory, on this machine.
    case directory(DataDirectory)

    /// Reads the text that a person gives for it: the path of a data directory.
    /// - Throws: `.invalid` for the URL of a database, of which the path of a directory would be made.
    package init(_ text: String) throws(StoreError) {
        if ["postgres://", "postgresql://"].contains(where: { text.lowercased().beginsWithBytes(of: $0) }) {
            throw StoreError(.invalid, "this sluice keeps its store in a directory only; it has no postgres://")
        }
        self = .directory(DataDirectory(path: text))
    }
}

/// A store that this process has opened, and the processes that share it.
package final class OpenedStore: Sendable {
    package let store: any CommandStore
    package let health: any StoreHealth
    /// The upkeep of its files; nil for a store without files of its own.
    package let maintenance: (any StoreMaintenance)?
    /// For what lies beside the store on this machine: configuration, spool, keys.
    package let directory: DataDirectory
    package let presence: any Presence
    package let endpoints: any Endpoints

    /// A store of processes that are all on this machine: their roles and sockets are in `run/` of the directory.
    package init(
        _ store: any CommandStore & StoreHealth, maintenance: (any StoreMaintenance)? = nil, in directory: DataDirectory
    ) {
        self.store = store
        health = store
        self.maintenance = maintenance
        self.directory = directory
        presence = directory.presence
        endpoints = directory.endpoints
    }
}

/// Opens stores, of each kind that this program has.
package enum Stores {
    /// Opens a store. Each shard is opened when it is first used.
    /// - Parameters:
    ///   - create: makes the store where there is none.
    ///   - shardCount: shards of a new store: a power of two from 1 to 256.
    /// - Throws: `.missing` where a shard is missing, or where there is no store and `create` is false; `.permission` where
    ///   the directory is not private to this user.
    package static func open(
        _ location: StoreLocation, create: Bool, shardCount: Int = DataDirectory.defaultShardCount
    ) throws(StoreError) -> OpenedStore {
        switch location {
        case .directory(let directory):
            let store = try directory.openStore(create: create, shardCount: shardCount)
            return OpenedStore(store, maintenance: store, in: directory)
        }
    }
}
