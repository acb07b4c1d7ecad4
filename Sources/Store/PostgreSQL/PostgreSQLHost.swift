internal import Commands
package import Host
internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// The data directory that belongs to a store on a server: its sockets, its locks, and the bytes of its uploads.
///
/// The table `host` names one. A door with another directory would lack the bytes of every open upload, and locks of another
/// machine prove no death. The directory is known by a random id in a file of its own, and by the inode of that file, which
/// a copy of the directory does not have.
struct PostgreSQLHost: Sendable, Equatable {
    var id: CommandID
    /// 0 where the file system may assign other inodes at each mount.
    var inode: Int64
    /// Of the machine.
    var name: String
    /// The absolute path of the data directory.
    var directory: String

    /// Reads the identity of a data directory.
    /// - Parameter make: draws one where there is none.
    /// - Returns: nil where there is none.
    /// - Throws: `.foreign` for a file with another content.
    init?(of data: DataDirectory, make: Bool) throws(StoreError) {
        let path = data.hostIdentity
        if make, access(path, F_OK) != 0 { try Self.write(CommandID().description, path, data) }
        var status = stat()
        guard stat(path, &status) == 0, let text = TextFile.read(path) else { return nil }
        guard let id = CommandID(text.prefix { !$0.isNewline }) else {
            throw StoreError(
                .foreign, "\(path) does not have the id of a data directory: put it back from a backup, or remove it.")
        }
        self.id = id
        let handle = try? openDirectory(data.path)
        defer { if let handle { close(handle) } }
        inode =
            handle.map { FileSystemType(of: $0).hasStableInodes } ?? false
            ? Int64(bitPattern: UInt64(status.st_ino)) : 0
        name = Self.machineName
        directory = data.resolved.path
    }

    /// Several processes may do this at once: one of the names lasts.
    private static func write(_ id: String, _ path: String, _ data: DataDirectory) throws(StoreError) {
        let temporary = "\(path).\(getpid())"
        do throws(SystemError) {
            let descriptor = try openFile(temporary, O_WRONLY | O_CREAT | O_TRUNC)
            defer { close(descriptor) }
            let text = "\(id)\n"
            guard text.withCString({ Glibc.write(descriptor, $0, strlen($0)) }) == text.utf8.count,
                fsync(descriptor) == 0
            else { throw SystemError("write", temporary) }
        } catch {
            throw StoreError(error)
        }
        defer { unlink(temporary) }
        guard link(temporary, path) == 0 || errno == EEXIST else { throw StoreError(SystemError("make", path)) }
        try data.sync(data.path)
    }

    private static var machineName: String {
        var buffer = [CChar](repeating: 0, count: 256)
        guard gethostname(&buffer, buffer.count - 1) == 0 else { return "an unknown machine" }
        return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

extension DataDirectory {
    /// The random id of the directory, for a store that is not in it.
    fileprivate var hostIdentity: String { "\(path)/host-id" }
}

extension PostgreSQLStore {
    fileprivate static let host = PostgreSQLStatement(
        "host", "SELECT id, inode, name, directory, seen_at FROM host WHERE number = 1")
    private static let addHost = PostgreSQLStatement(
        "add-host",
        """
        INSERT INTO host(number, id, inode, name, directory, seen_at) VALUES (1, $1, $2, $3, $4, $5)
        ON CONFLICT (number) DO NOTHING
        """)
    private static let setHost = PostgreSQLStatement(
        "set-host",
        """
        INSERT INTO host(number, id, inode, name, directory, seen_at) VALUES (1, $1, $2, $3, $4, $5)
        ON CONFLICT (number) DO UPDATE SET id = excluded.id, inode = excluded.inode, name = excluded.name,
            directory = excluded.directory, seen_at = excluded.seen_at
        """)

    /// How long after its last sign of life a host may still write.
    package static let hostSilence: Duration = .seconds(90)

    /// Binds the store to a data directory, where it has none yet and work begins on it.
    /// - Parameter begins: work on the store begins; else it is only read, and a store without a host stays so.
    /// - Throws: `.permission` where the store belongs to another directory.
    package func bind(to data: DataDirectory, begins: Bool) throws(StoreError) {
        let own = try PostgreSQLHost(of: data, make: begins)
        if begins, let own { try write(Self.addHost, own) }
        guard let (host, seen) = try readHost() else { return }
        guard let own, own.isDirectory(of: host) else { throw refusal(host, seen, own) }
        self.own.withLock { $0 = own }
        guard begins else { return }
        pool.sign = PostgreSQLHostSign(own)
        pool.noteAbsences(in: data)
        if own != host { try write(Self.setHost, own) }
    }

    /// Gives the store to another data directory. The commands that workers of the earlier one held are released by the next
    /// coordinator, as after their deaths.
    /// - Parameter force: although the earlier host was alive a moment ago.
    /// - Returns: the earlier host as text; nil where there was none, or it is the same.
    /// - Throws: `.busy` where the earlier host is alive.
    @discardableResult
    package func moveHost(to data: DataDirectory, force: Bool) throws(StoreError) -> String? {
        guard let own = try PostgreSQLHost(of: data, make: true) else {
            throw StoreError(.failed, "The id of \(data.path) cannot be read; try again.")
        }
        let found = try readHost()
        if let (host, seen) = found, host.id != own.id || host.inode != own.inode, !force {
            try refuseAlive(host, seen)
        }
        // A transaction of the earlier host that has read its name holds a lock: it is committed before, or refused.
        try write(Self.setHost, own, locking: 0..<shardCount)
        guard let (host, _) = found, host.id != own.id || host.directory != own.directory else { return nil }
        return "\(host)"
    }

    private func refuseAlive(_ host: PostgreSQLHost, _ seen: Timestamp) throws(StoreError) {
        let silence = clock.now() - seen
        guard silence < Self.hostSilence else { return }
        throw StoreError(
            .busy,
            "\(host) used the store \(max(silence, .zero).components.seconds) s ago; stop sluice there, then try again in "
                + "\((Self.hostSilence - silence).components.seconds + 1) s.")
    }

    /// The data directory that the store belongs to, where it is on this machine and can be read.
    func localDirectory(of host: PostgreSQLHost) -> DataDirectory? {
        let data = DataDirectory(path: host.directory)
        guard let own = try? PostgreSQLHost(of: data, make: false), own.isDirectory(of: host) else { return nil }
        return data
    }

    /// - Throws: `.busy` where another process works on the store. On this machine the locks of its data directory say so, on
    ///   another one the last sign of life.
    func refuseProcesses() throws(StoreError) {
        guard let (host, seen) = try readHost() else { return }
        guard let data = localDirectory(of: host) else { return try refuseAlive(host, seen) }
        for lock in [.coordinator, .door] + RunDirectory.Lock.seats.map(RunDirectory.Lock.seat) {
            let holder = data.run.probe(lock)
            guard holder.isHeld, holder.pid != getpid() else { continue }
            throw StoreError(
                .busy,
                "The store \(pool.name) is in use by \(holder.pid.map { WALHolders.names([$0]) } ?? "a process") on the data "
                    + "directory \(data.path); stop it, and every other process there, then try again.")
        }
    }

    private func write(
        _ statement: PostgreSQLStatement, _ host: PostgreSQLHost, locking shards: Range<Int> = 0..<1
    ) throws(StoreError) {
        let now = clock.now()
        try untilKnown { _ throws(StoreError) in
            _ = try change(shards) { change throws(StoreError) in
                try change.transaction.write(statement, host.id, host.inode, host.name, host.directory, now)
            }
        }
    }

    func readHost() throws(StoreError) -> (host: PostgreSQLHost, seen: Timestamp)? {
        try read { transaction throws(StoreError) in try transaction.host() }
    }

    private func refusal(_ host: PostgreSQLHost, _ seen: Timestamp, _ own: PostgreSQLHost?) -> StoreError {
        let isCopy = own?.id == host.id
        return StoreError(
            .permission,
            "The store \(pool.name) belongs to the data directory \(host), which last used it at \(seen)"
                + "\(isCopy ? "; this directory is a copy of that one" : ""). Work there, or, once that host is gone "
                + "for good, move the store to this one by “sluice store move-host”.")
    }
}

extension PostgreSQLTransaction {
    fileprivate func host() throws(StoreError) -> (host: PostgreSQLHost, seen: Timestamp)? {
        try read(PostgreSQLStore.host).first { row in
            (PostgreSQLHost(id: row[0], inode: row[1], name: row[2], directory: row[3]), row[4] as Timestamp)
        }
    }
}

extension PostgreSQLHost: CustomStringConvertible {
    var description: String { "\(directory) on \(name)" }

    /// Whether a store that belongs to `host` belongs to this directory.
    fileprivate func isDirectory(of host: PostgreSQLHost) -> Bool {
        id == host.id && (inode == host.inode || inode == 0 || host.inode == 0)
    }

    fileprivate init(id: CommandID, inode: Int64, name: String, directory: String) {
        (self.id, self.inode, self.name, self.directory) = (id, inode, name, directory)
    }

    /// SQL that compares this host with the row `h` of the table `host`.
    /// - Parameters: the parameters with the identity of this host, such as `$1`.
    static func isOwn(id: String, inode: String) -> String {
        "h.id = \(id)::uuid AND (h.inode = \(inode)::int8 OR h.inode = 0 OR \(inode)::int8 = 0)"
    }

    /// The error of a write behind a move of the store to another host.
    func loss(_ transaction: PostgreSQLTransaction, of store: String) throws(StoreError) -> StoreError {
        let other = try transaction.host()?.host
        return StoreError(.moved, loss(of: "The store \(store)", to: other.map { ($0.directory, $0.name) }))
    }

    fileprivate func loss(of store: String, to other: (directory: String, name: String)?) -> String {
        let other = other.map { "\($0.directory) on \($0.name)" } ?? "no data directory"
        return "\(store): it was moved to \(other), and belongs to \(directory) on \(name) no longer; stop sluice here."
    }
}

/// The signs of life of the host of a store, written on a connection that is used anyway.
///
/// ``PostgreSQLStore/moveHost(to:force:)`` looks at them. ``PostgreSQLChange`` refuses the writes of a host that
/// has lost the store, whatever a clock says.
final class PostgreSQLHostSign: Sendable {
    private let host: PostgreSQLHost
    /// The clock of a boot goes on while the machine is suspended.
    private let last = Mutex(BootTime.now)

    private static let interval: Duration = .seconds(30)
    private static let statement = PostgreSQLStatement(
        "host-sign",
        """
        WITH seen AS (UPDATE host h SET seen_at = $3 WHERE h.number = 1 AND \(PostgreSQLHost.isOwn(id: "$1", inode: "$2"))
            RETURNING 1)
        SELECT h.directory, h.name, EXISTS (SELECT 1 FROM seen) FROM host h WHERE h.number = 1
        """)

    init(_ host: PostgreSQLHost) { self.host = host }

    /// Whether the next connection has to write one.
    var isDue: Bool { last.withLock { BootTime.now - $0 >= Self.interval } }

    /// - Throws: `.moved` where the store has another host now.
    func write(
        _ connection: inout PostgreSQLConnection, at now: Timestamp, deadline: MonotonicTime
    ) throws(PostgreSQLError) {
        let found = try connection.execute(Self.statement, host.id, host.inode, now, deadline: deadline).first { row in
            (other: (directory: row[0] as String, name: row[1] as String), isOwn: row[2] as Bool)
        }
        guard let found, found.isOwn else {
            throw PostgreSQLError(.moved, host.loss(of: connection.server, to: found?.other))
        }
        last.withLock { $0 = .now }
    }
}
