package import Commands
package import Membership
internal import Store

/// The stores on servers: their creation, the rights on them, and the data directory to which each belongs.
package enum ServerStores {
    /// A store that was made.
    package struct Created: Sendable {
        /// The URL without a password.
        package var name: String
        package var schema: String
        package var shardCount: Int
    }

    /// Makes the tables of a store in a database that exists.
    /// - Parameters:
    ///   - url: with the user that is to own the tables; the parameter `schema` names the schema, `sluice` by default.
    ///   - shardCount: a power of two from 1 to 256, which is never changed. Default: 64.
    /// - Throws: ``SluiceError`` `invalid` where there is such a schema already; `notPermitted`, `tryAgain`, `unsuitable`.
    package static func create(_ url: String, shardCount: Int = defaultShardCount) throws -> Created {
        do throws(StoreError) {
            try PostgreSQLStore.create(url: url, shardCount: shardCount)
            return Created(
                name: try PostgreSQLStore.name(ofStoreAt: url), schema: try PostgreSQLStore.schema(ofStoreAt: url),
                shardCount: shardCount)
        } catch {
            throw SluiceError(error)
        }
    }

    /// A commit costs the same whatever its shards are, so that a server has more of them than a disk.
    package static let defaultShardCount = 64

    /// SQL for the owner of a store: the rights of another role, and the settings of its sessions.
    package static func grants(_ url: String, to role: String) throws -> String {
        do throws(StoreError) { return try PostgreSQLStore.grants(url: url, to: role) } catch {
            throw SluiceError(error)
        }
    }

    /// SQL for the owner of a store: the right of another role to submit by SQL, and no other.
    package static func producerGrants(_ url: String, to role: String) throws -> String {
        do throws(StoreError) { return try PostgreSQLStore.producerGrants(url: url, to: role) } catch {
            throw SluiceError(error)
        }
    }

    /// Gives a store to the data directory of a location, in place of that of a machine that is gone.
    /// - Parameter force: although the earlier machine has used the store a moment ago.
    /// - Returns: the earlier directory and its machine as text; nil where the store had none, or has the same.
    /// - Throws: ``SluiceError`` `invalid` for a store in a directory; `tryAgain` where the earlier machine is alive.
    package static func moveHost(_ location: StoreLocation, force: Bool) throws -> String? {
        guard case .server(let url, let directory) = location else {
            throw SluiceError(
                .invalid,
                "the store \(location.name) is in a data directory, which moves as a whole; “sluice restore --adopt” puts a copy "
                    + "into use")
        }
        do throws(StoreError) {
            let store = try PostgreSQLStore(url: url)
            try directory.prepare()
            return try store.moveHost(to: directory, force: force)
        } catch {
            throw SluiceError(error)
        }
    }

    /// Settles a store whose server was put back to an earlier moment: ends the sessions of that moment, and releases what was
    /// claimed. Holds the role of the coordinator meanwhile.
    /// - Throws: ``SluiceError`` `invalid` for a store in a directory; `tryAgain` where a process works on the store.
    package static func settleRestored(_ location: StoreLocation) throws -> SettledStore {
        guard case .server(let url, let directory) = location else {
            throw SluiceError(
                .invalid,
                "the store \(location.name) is in a data directory; “sluice restore” puts back a backup and settles it")
        }
        do throws(StoreError) {
            let opened = try Stores.open(location, create: true)
            let coordination = try opened.presence.takeCoordination(now: opened.store.clock.now())
            defer { withExtendedLifetime(coordination) {} }
            for role in [Role.door] + (0..<Role.maxSeats).map({ .worker(seat: $0) }) {
                guard let holder = opened.presence.holder(of: role) else { continue }
                let process = holder.pid.map { "process \($0)" } ?? "a process"
                throw StoreError(
                    .busy, "\(process) works on the store \(location.name); stop every part of sluice, then try again.")
            }
            let store = try PostgreSQLStore(url: url)
            try store.bind(to: directory, begins: true)
            return SettledStore(try store.settleRestored())
        } catch {
            throw SluiceError(error)
        }
    }
}

/// A store that was copied to another one.
package struct CopiedStore: Sendable {
    /// For messages, without passwords.
    package var from, to: String
    /// The number of rows by kind, with the name of the kind for programs and for people.
    package var rows: [(key: String, name: String, count: Int)]
    /// Commands that were claimed and were released in the target, by their new status.
    package var claimed: [CommandStatus: Int]
    /// Open uploads that were left out.
    package var uploadsLeft: Int
    /// Uploads with bytes in the spool of the source, which is not copied.
    package var spooledUploads: Int
    /// The data directory that has the target already; nil for a data directory, and for a store on which no work has begun.
    package var host: String?
    /// The spool of the source, where its data directory is on this machine.
    package var spool: String?
    /// The file in the spool that makes a door of the target refuse it.
    package var spoolMark: String?
}

extension ServerStores {
    /// Copies a store to one that is made or is empty. Neither is in use meanwhile.
    /// - Parameters:
    ///   - withoutUploads: leaves out open uploads.
    ///   - progress: is called when the target has a mark, by which every process refuses it until the end, with a total of 0; then
    ///     after each page.
    /// - Throws: ``SluiceError`` `tryAgain` for a store in use, and for open uploads; `noStore`; `invalid` for a target that is
    ///   not empty; `corrupt` where the rows of both differ.
    package static func copy(
        _ from: StoreLocation, to target: StoreLocation, withoutUploads: Bool,
        progress: (_ kind: String, _ rows: Int, _ total: Int) -> Void
    ) throws -> CopiedStore {
        do throws(StoreError) {
            let report = try StoreCopy.run(from: from.place, to: target.place, withoutUploads: withoutUploads) {
                progress($0.kind.rawValue, $0.rows, $0.total)
            }
            return CopiedStore(
                from: from.place.name, to: target.place.name,
                rows: CopiedKind.allCases.compactMap { kind in
                    report.rows[kind].map { ("\(kind)", kind.rawValue, $0) }
                },
                claimed: report.released, uploadsLeft: report.uploadsLeft, spooledUploads: report.spooledUploads,
                host: report.host, spool: report.spool, spoolMark: report.spoolMark)
        } catch {
            throw SluiceError(error)
        }
    }
}

extension StoreLocation {
    fileprivate var place: StoreCopy.Place {
        switch self {
        case .directory(let directory): .directory(directory)
        case .server(let url, _): .server(url: url)
        }
    }
}
