package import Commands
package import Host

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// Copies a store to another one that is empty: between SQLite and PostgreSQL, and between two schemas of PostgreSQL.
///
/// 1. The source is locked, so that no process changes it, and refused where a worker has a session: a copied claim would
///    be executed twice.
/// 2. The target is made with the number of shards of the source, or is empty. From here on it has a mark, and every program
///    refuses it.
/// 3. The rows are copied in pages. A turn and the number of a transition belong to a shard, and relations name commands by
///    their turns, so that every row stays in the shard of the same number.
/// 4. The rows are counted in both stores and compared, claimed commands are released, and the mark is removed.
///
/// The target has an id of its own: a spool is marked with the id of its store, and two stores with one id would both take
/// the files of one spool for theirs. Sessions and the settings of workers are not copied. So a claim that was made in the
/// source is not valid in the target: every write of an execution needs a session.
package enum StoreCopy {
    /// How far a copy is.
    package struct Progress: Sendable, Equatable {
        /// Of the rows that were copied last.
        package var kind: CopiedKind
        /// Rows so far, of all kinds.
        package var rows: Int
        /// Rows of the source; 0 before they are counted.
        package var total: Int
    }

    /// Copies a store. The source is not changed.
    ///
    /// It takes the locks of a data directory itself: the coordinator's, those of the workers, and that of the store, so
    /// the process must not have either store open.
    /// - Parameters:
    ///   - withoutUploads: leaves out the uploads that are open. Their clients begin again.
    ///   - progress: is called when the target has its mark, and after each page of up to 1,000 rows. An error that it throws interrupts the copy.
    /// - Throws: `busy` where a process uses one of the stores, a worker has a session in the source, an upload is open, the spool
    ///   was not compared with a restored source, or a command waits in an inbox that the target does not have;
    ///   `invalid` where the target is not empty, has another number of shards, or cannot keep a text; `corrupt` where the
    ///   rows of both differ afterwards. The target can be used only after a copy that throws nothing.
    package static func run(
        from: Place, to: Place, withoutUploads: Bool = false,
        progress: (Progress) throws(StoreError) -> Void = { _ in }
    ) throws(StoreError) -> StoreCopyReport {
        guard !from.isSame(as: to) else {
            throw StoreError(.invalid, "\(from.name) would be copied to itself; name another store as the target.")
        }
        return try from.withSource { source throws(StoreError) in
            try refuseRunning(source)
            try refuseUncompared(source)
            if !withoutUploads { try refuseOpenUploads(source) }
            if case .directory = to { try refuseInbox(source) }
            return try to.withTarget(of: source) { target throws(StoreError) in
                try run(source, target, withoutUploads, progress)
            }
        }
    }

    private static func run(
        _ source: any CopySource, _ target: any StoreCopyTarget, _ withoutUploads: Bool,
        _ progress: (Progress) throws(StoreError) -> Void
    ) throws(StoreError) -> StoreCopyReport {
        try progress(Progress(kind: .commands, rows: 0, total: 0))
        let expected = try source.rowCounts(withoutOpenUploads: withoutUploads)
        let total = expected.values.reduce(0) { $0 + $1.values.reduce(0, +) }
        var rows = 0
        for part in source.parts {
            var last: [CopyValue] = []
            while true {
                let page = try source.page(part, after: last, withoutOpenUploads: withoutUploads)
                if page.count == 0 { break }
                last = page.last
                try target.insert(page, of: part)
                rows += page.count
                try progress(Progress(kind: part.kind, rows: rows, total: total))
            }
        }
        let facts = try source.facts()
        try target.write(facts)
        try compare(expected, with: target.rowCounts(), target.name)
        let (before, after) = (try source.counts(), try target.counts())
        try compare(before, with: after, target.name)
        var report = StoreCopyReport(before: before, after: after, store: target.store)
        report.rows = expected.mapValues { $0.values.reduce(0, +) }.filter { $0.value > 0 }
        report.rows[.settings] = facts.settings.count
        report.rows[.types] = facts.types.count
        report.spooledUploads = try source.spooledUploads()
        report.note(source.directory, of: source.store)
        report.host = target.host
        if withoutUploads { report.uploadsLeft = try source.openUploads().count }
        report.released = try target.release(
            reason: "the store was copied while no worker executed the command")
        try target.finish()
        return report
    }

    // MARK: Refusals

    private static func refuseRunning(_ source: any CopySource) throws(StoreError) {
        let (sessions, claimed) = try source.claims()
        guard sessions > 0 else { return }
        let workers = sessions == 1 ? "a worker has" : "\(sessions) workers have"
        let commands = claimed == 1 ? "1 command is" : "\(claimed) commands are"
        throw StoreError(
            .busy,
            "\(workers) a session in \(source.name) that has not ended, and \(commands) claimed; start “sluice up” on it and "
                + "stop it once, which settles them, then copy again.")
    }

    /// The door of the copy would delete files of the spool that no row knows, and whose bytes were acknowledged.
    private static func refuseUncompared(_ source: any CopySource) throws(StoreError) {
        guard try source.isOlderThanSpool() else { return }
        throw StoreError(
            .busy,
            "\(source.name) was restored, and no door has compared its spool with it since; start “sluice up” with a door once, "
                + "which keeps the bytes that the store does not know, stop it, then copy again.")
    }

    private static func refuseOpenUploads(_ source: any CopySource) throws(StoreError) {
        let (count, first) = try source.openUploads()
        guard count > 0 else { return }
        let names = first.map(\.description).joined(separator: ", ") + (count > first.count ? ", …" : "")
        let uploads = count == 1 ? "1 upload is" : "\(count) uploads are"
        throw StoreError(
            .busy,
            "\(uploads) open in \(source.name) (\(names)): their bytes are in its spool, which is not copied; wait for their "
                + "ends, or leave them out with --without-uploads.", id: first.first)
    }

    private static func refuseInbox(_ source: any CopySource) throws(StoreError) {
        let count = try source.inboxCount()
        guard count > 0 else { return }
        let commands =
            count == 1
            ? "1 command that was submitted by SQL waits" : "\(count) commands that were submitted by SQL wait"
        throw StoreError(
            .busy,
            "\(commands) in the inbox of \(source.name), and a data directory has no inbox; start “sluice up” on the store, which "
                + "takes them in, stop it, then copy again.")
    }

    private static func compare(
        _ expected: CopyRowCounts, with found: CopyRowCounts, _ target: String
    ) throws(StoreError) {
        for kind in CopiedKind.allCases {
            let (before, after) = (expected[kind] ?? [:], found[kind] ?? [:])
            for shard in Set(before.keys).union(after.keys).sorted()
            where before[shard, default: 0] != after[shard, default: 0] {
                throw StoreError(
                    .corrupt,
                    "Shard \(shard) of the source has \(before[shard, default: 0]) \(kind.rawValue), and its copy in \(target) "
                        + "has \(after[shard, default: 0]); the copy cannot be used: copy again.", shard: shard)
            }
        }
    }

    private static func compare(
        _ before: CommandCounts, with after: CommandCounts, _ target: String
    ) throws(StoreError) {
        for status in CommandStatus.allCases {
            for qos in QualityOfService.allCases where before[status, qos] != after[status, qos] {
                throw StoreError(
                    .corrupt,
                    "The source counts \(before[status, qos]) commands in status \(status.name) of quality \(qos.name), and its "
                        + "copy in \(target) has \(after[status, qos]); run “sluice doctor --mend” on the source, then copy "
                        + "again.")
            }
        }
    }
}

extension StoreCopy {
    /// A store, as an argument of `sluice store copy`.
    package enum Place: Sendable {
        case directory(DataDirectory)
        /// - Parameters:
        ///   - url, schema: as of ``PostgreSQLStore/init(url:schema:clock:)``.
        case server(url: String, schema: String? = nil)
    }
}

extension StoreCopy.Place {
    /// For messages and the mark, without a password.
    package var name: String {
        switch self {
        case .directory(let data): data.resolved.path
        case .server(let url, let schema):
            ((try? PostgreSQLLocation(url).description) ?? "postgres://…") + (schema.map { " (\($0))" } ?? "")
        }
    }

    func isSame(as other: Self) -> Bool {
        switch (self, other) {
        case (.directory(let first), .directory(let second)):
            first.resolved == second.resolved
        case (.server(let first, let firstSchema), .server(let second, let secondSchema)):
            first == second && firstSchema == secondSchema
        default: false
        }
    }

    func withSource<Value>(
        _ body: (any CopySource) throws(StoreError) -> Value
    ) throws(StoreError) -> Value {
        switch self {
        case .directory(let data): try body(SQLiteCopySource(data))
        case .server(let url, let schema):
            try PostgreSQLCopySource.open(url, schema, name: name) { source throws(StoreError) in try body(source) }
        }
    }

    func withTarget<Value>(
        of source: any CopySource, _ body: (any StoreCopyTarget) throws(StoreError) -> Value
    ) throws(StoreError) -> Value {
        switch self {
        case .directory(let data): try body(SQLiteCopyTarget(data, of: source))
        case .server(let url, let schema):
            try PostgreSQLCopyTarget.open(url, schema, name: name, of: source) { target throws(StoreError) in
                try body(target)
            }
        }
    }
}

/// The result of a copy.
package struct StoreCopyReport: Sendable, Equatable {
    /// Those of which there is at least one.
    package var rows: [CopiedKind: Int] = [:]
    /// Of the source, as it keeps them.
    package var before: CommandCounts
    /// Of the target, from its rows, before the release of ``released``. Equal to ``before`` in every cell.
    package var after: CommandCounts
    /// Claimed commands without the session of a worker, which were released in the target, by their new status.
    package var released: [CommandStatus: Int] = [:]
    /// Open uploads that were left out.
    package var uploadsLeft = 0
    /// Uploads whose bytes are in the spool of the source, which is not copied.
    package var spooledUploads = 0
    /// The id of the target.
    package var store: String
    /// The data directory that a target on a server belongs to; nil where work has not begun on it.
    package var host: String?
    /// The spool of the source; nil where its data directory is not on this machine.
    package var spool: String?
    /// The file that makes ``spool`` that of the source, so that a door of the target refuses it; nil where there is none.
    package var spoolMark: String?

    init(before: CommandCounts, after: CommandCounts, store: String) {
        self.before = before
        self.after = after
        self.store = store
    }

    mutating func note(_ directory: DataDirectory?, of store: String) {
        guard let directory else { return }
        spool = directory.resolved.spool
        let mark = "\(directory.resolved.uploads)/\(DataDirectory.uploadsMark(of: store))"
        spoolMark = access(mark, F_OK) == 0 ? mark : nil
    }
}
