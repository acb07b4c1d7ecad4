internal import Commands
package import Host
internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// The connections of a store to its server. A caller has one for a transaction or a read; up to ``maxCount`` are open.
final class PostgreSQLPool: Sendable {
    /// A connection in the pool, which cannot be copied.
    ///
    /// `@unchecked Sendable`: the pool hands it to one caller at a time.
    private final class Slot: @unchecked Sendable {
        var connection: PostgreSQLConnection

        init(_ connection: consuming PostgreSQLConnection) { self.connection = connection }
    }

    private let location: PostgreSQLLocation
    /// The URL of the store for messages, without a password.
    let name: String
    private let clock: PostgreSQLClock?
    /// Nil where no process of the host has begun work here.
    private let signs = Mutex<PostgreSQLHostSign?>(nil)
    private let absence = Mutex<ServerAbsence?>(nil)
    /// This process has noted that the server is away.
    private let isAway = Atomic(false)
    private let idle = Mutex<[Slot]>([])
    let statistics = Mutex(StoreStatistics())
    /// Counts the connections that may still be taken.
    private let room: MonotonicSemaphore

    /// Enough for the writers and the readers of a process; a server accepts about a hundred (`max_connections`).
    private static let maxCount = 8

    /// - Parameter clock: is measured on the connections; nil where the store has another clock.
    init(_ location: PostgreSQLLocation, named name: String, clock: PostgreSQLClock?) {
        self.location = location
        self.name = name
        self.clock = clock
        room = MonotonicSemaphore(value: Self.maxCount)
    }

    /// The signs of life of this host.
    var sign: PostgreSQLHostSign? {
        get { signs.withLock { $0 } }
        set { signs.withLock { $0 = newValue } }
    }

    /// Runs `body` with a connection, an open one where there is one. One that was lost is dropped.
    func withConnection<Value>(
        deadline: MonotonicTime, _ body: (inout PostgreSQLConnection) throws(PostgreSQLError) -> Value
    ) throws(PostgreSQLError) -> Value {
        guard room.wait(until: deadline) else {
            throw PostgreSQLError(
                .busy, "The store \(name): all \(Self.maxCount) connections are in use; try again.",
                recovery: .repeatTransaction)
        }
        defer { room.signal() }
        let slot: Slot
        if let open = idle.withLock({ $0.popLast() }) {
            slot = open
        } else {
            slot = Slot(try connect(deadline: deadline))
        }
        let roundTrips = slot.connection.roundTrips
        defer {
            let isOpen = slot.connection.isOpen
            statistics.withLock { statistics in
                statistics.roundTrips += slot.connection.roundTrips - roundTrips
                if !isOpen { statistics.lostConnections += 1 }
            }
            if isOpen { idle.withLock { $0.append(slot) } }
        }
        if let clock, clock.isMeasureDue { try clock.measure(&slot.connection, deadline: deadline) }
        if let sign, sign.isDue {
            try sign.write(&slot.connection, at: clock?.now() ?? .now, deadline: deadline)
        }
        let value = try body(&slot.connection)
        if isAway.load(ordering: .relaxed) { noteAnswer() }
        return value
    }

    private func connect(deadline: MonotonicTime) throws(PostgreSQLError) -> PostgreSQLConnection {
        do throws(PostgreSQLError) {
            let connection = try PostgreSQLConnection.open(location, deadline: deadline)
            noteAnswer()
            return connection
        } catch {
            if error.code == .unreachable, let absence = absence.withLock({ $0 }) {
                isAway.store(true, ordering: .relaxed)
                absence.begin()
            }
            throw error
        }
    }

    /// Notes absences of the server in a data directory.
    func noteAbsences(in data: DataDirectory) {
        absence.withLock { $0 = ServerAbsence(in: data) }
        noteAnswer()
    }

    private func noteAnswer() {
        isAway.store(false, ordering: .relaxed)
        absence.withLock { $0 }?.end()
    }

    /// Closes the connections that are not in use: after a failover they may lead to a server that was demoted.
    func closeIdle() { idle.withLock { $0 = [] } }
}

/// Since when the server of a store is away: a file in the data directory, so that “sluice status” can say what the processes
/// which work on the store have seen.
///
/// The first process that cannot connect makes it, and the next one that connects removes it.
struct ServerAbsence: Sendable {
    private let path: String

    init(in data: DataDirectory) { path = "\(data.run.path)/server-away" }

    /// Keeps the time of an absence that another process has noticed. Without the directory, nothing is kept.
    func begin() {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        if descriptor >= 0 { close(descriptor) }
    }

    func end() { unlink(path) }

    var since: Timestamp? {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        return Timestamp(
            milliseconds: Int64(status.st_mtim.tv_sec) * 1000 + Int64(status.st_mtim.tv_nsec) / 1_000_000)
    }
}

extension StoreError {
    /// An error of opening a store, which also says since when its server is away, where a process of the data directory has
    /// noticed that.
    package func withAbsence(notedIn data: DataDirectory) -> StoreError {
        guard code == .unreachable, let since = ServerAbsence(in: data).since else { return self }
        var error = self
        error.message += " The processes of \(data.path) have not reached it since \(since)."
        return error
    }
}
