package import Commands
package import Host

/// How full the spool is, in bytes. The door refuses uploads by these figures, and `/readyz`, `doctor`, `status` and the pages
/// show them.
package struct SpoolFigures: Sendable, Equatable {
    /// Of all uploads in the spool, with the room that they have taken.
    package var used: Int64
    /// Taken, and not set aside by the disk yet.
    package var promised: Int64
    /// Free on the disk.
    package var free: Int64
    /// Left free by uploads.
    package var floor: Int64
    /// That uploads may use; nil: all but the floor.
    package var quota: Int64?

    package init(used: Int64, promised: Int64, free: Int64, floor: Int64, quota: Int64? = nil) {
        self.used = used
        self.promised = promised
        self.free = free
        self.floor = floor
        self.quota = quota
    }

    /// Bytes that uploads may still take. Where it is 0, all are refused.
    package var room: Int64 { max(min(quota.map { $0 - used } ?? .max, free - promised - floor), 0) }

    // MARK: Other processes

    /// The file in which the door tells other processes its figures.
    package static func path(_ run: RunDirectory) -> String { "\(run.path)/door.spool" }

    /// The figures of a door that runs, as it has written them; else those of the rows and of the disk.
    /// - Parameters:
    ///   - bytes: that the rows have in the spool.
    ///   - limits: of the configuration.
    ///   - hasDoor: whether a door runs.
    /// - Returns: nil where there is no spool.
    package static func read(
        _ directory: DataDirectory, _ limits: UploadLimits, hasDoor: Bool, bytes: () -> Int64
    ) -> SpoolFigures? {
        if hasDoor, let figures = read(directory.run) { return figures }
        guard let free = try? SpoolDirectory(path: directory.uploads).free else { return nil }
        return SpoolFigures(used: bytes(), promised: 0, free: free.bytes, floor: limits.minFree, quota: limits.quota)
    }

    package static func read(_ run: RunDirectory) -> SpoolFigures? {
        guard let text = TextFile.read(path(run)), let json = try? JSONValue(parsing: Array(text.utf8)) else {
            return nil
        }
        return SpoolFigures(json)
    }

    /// The contents of ``path(_:)``.
    package var json: JSONValue {
        [
            "used": .integer(used), "promised": .integer(promised), "free": .integer(free), "floor": .integer(floor),
            "quota": quota.map { .integer($0) } ?? .null,
        ]
    }

    private init?(_ json: JSONValue) {
        guard let used = json["used"]?.integer, let promised = json["promised"]?.integer,
            let free = json["free"]?.integer, let floor = json["floor"]?.integer
        else { return nil }
        self.init(used: used, promised: promised, free: free, floor: floor, quota: json["quota"]?.integer)
    }
}

/// The bounds of uploads.
package struct UploadLimits: Sendable, Equatable {
    /// Bytes of one upload. The default is 1 TiB.
    package var maxSize: Int64 = 1 << 40
    /// An upload that makes no progress for this time expires. The default is a week. One that makes little progress lives
    /// four times as long, and a second for each KiB.
    package var maxAge: Duration = .seconds(7 * 86_400)
    /// The size of the spool that uploads may use; nil, the default: all but ``minFree``.
    package var quota: Int64?
    /// Bytes that stay free on the disk of the spool. The default is 1 GiB.
    package var minFree: Int64 = 1 << 30
    /// The size of the spool that the uploads of one token may use; nil, the default: nine tenths of all.
    package var tokenQuota: Int64?
    /// Uploads of one token that take bytes. The default is 10,000.
    package var maxTokenUploads = 10_000
    /// Uploads that one token may create within a minute without sending bytes. The default is 1,000.
    package var maxTokenCreations = 1000
    /// Bodies up to this size are kept in the shard, in the transaction of their command. The default is 64 KiB.
    package var maxRowSize = 64 << 10

    /// Ended uploads are remembered for this time, so that their clients are told why; idempotency keys as well.
    package static let memory: Duration = .seconds(86_400)

    package init() {}
}
