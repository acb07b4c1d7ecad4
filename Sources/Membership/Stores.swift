internal import Commands
package import Host
package import Store

/// Where the store of an installation is.
package enum StoreLocation: Sendable, Hashable {
    /// In the files of a data directory, on this machine.
    case directory(DataDirectory)
    /// In a database of a PostgreSQL server. The data directory has what belongs to this machine: the sockets and locks of its
    /// processes, keys, spool and configuration.
    case server(url: String, DataDirectory)

    /// Reads the texts that a person gives for it.
    /// - Parameters:
    ///   - path: of the data directory.
    ///   - store: the URL of a store on a server; nil: the store is in the data directory.
    /// - Throws: `.invalid` for a URL in place of the path, and for a store that is not a URL.
    package init(_ path: String, store: String? = nil) throws(StoreError) {
        guard !Self.isURL(path) else {
            throw StoreError(
                .invalid, "a data directory is a path, not a URL; give the URL of a store by --store or SLUICE_STORE")
        }
        let directory = DataDirectory(path: path)
        guard let store else {
            self = .directory(directory)
            return
        }
        guard Self.isURL(store) else {
            throw StoreError(
                .invalid, "a store is a URL that begins with postgres://; a data directory is given by --data")
        }
        _ = try PostgreSQLStore.name(ofStoreAt: store)
        self = .server(url: store, directory)
    }

    private static func isURL(_ text: String) -> Bool {
        ["postgres://", "postgresql://"].contains { text.lowercased().beginsWithBytes(of: $0) }
    }

    /// Whether a URL has a password, which no argument of a process should have.
    package static func hasPassword(_ url: String) -> Bool { PostgreSQLStore.hasPassword(url) }

    /// Of a store on a server, with its password.
    package var url: String? { if case .server(let url, _) = self { url } else { nil } }

    package var isServer: Bool { url != nil }

    package var directory: DataDirectory {
        switch self {
        case .directory(let directory), .server(_, let directory): directory
        }
    }

    /// For messages: the path of the directory, or the URL without a password.
    package var name: String {
        switch self {
        case .directory(let directory): directory.path
        case .server(let url, _): (try? PostgreSQLStore.name(ofStoreAt: url)) ?? "postgres://"
        }
    }
}

/// A store that this process has opened, and the processes that share it.
package final class OpenedStore: Sendable {
    package let store: any CommandStore
    package let health: any StoreHealth
    /// The upkeep of its files; nil for a store without files of its own.
    package let maintenance: (any StoreMaintenance)?
    /// For messages: the path of the directory, or the URL without a password.
    package let name: String
    /// For what lies beside the store on this machine: configuration, spool, keys.
    package let directory: DataDirectory
    package let presence: any Presence
    package let endpoints: any Endpoints

    /// A store of processes that are all on this machine: their roles and sockets are in `run/` of the directory.
    package init(
        _ store: any CommandStore & StoreHealth, maintenance: (any StoreMaintenance)? = nil, named name: String? = nil,
        in directory: DataDirectory
    ) {
        self.store = store
        self.name = name ?? directory.path
        health = store
        self.maintenance = maintenance
        self.directory = directory
        presence = directory.presence
        endpoints = directory.endpoints
    }
}

/// Opens stores, of each kind that this program has.
package enum Stores {
    /// Opens a store. Each shard of a directory is opened when it is first used.
    /// - Parameters:
    ///   - create: makes the store of a directory where there is none. One on a server is made by
    ///     ``PostgreSQLStore/create(url:schema:shardCount:types:)`` only; here `create` makes the data directory, and binds the
    ///     store to it.
    ///   - shardCount: shards of a new store: a power of two from 1 to 256.
    /// - Throws: `.missing` where a shard is missing, or where there is no store and `create` is false; `.permission` where
    ///   the directory is not private to this user, or where the store belongs to another directory.
    package static func open(
        _ location: StoreLocation, create: Bool, shardCount: Int = DataDirectory.defaultShardCount
    ) throws(StoreError) -> OpenedStore {
        switch location {
        case .directory(let directory):
            let store = try directory.openStore(create: create, shardCount: shardCount)
            return OpenedStore(store, maintenance: store, in: directory)
        case .server(let url, let directory):
            let store: PostgreSQLStore
            do throws(StoreError) { store = try PostgreSQLStore(url: url) } catch {
                throw error.withAbsence(notedIn: directory)
            }
            if create { try directory.prepare() } else { try directory.checkPrivacy() }
            try store.bind(to: directory, begins: create)
            return OpenedStore(store, named: location.name, in: directory)
        }
    }
}
