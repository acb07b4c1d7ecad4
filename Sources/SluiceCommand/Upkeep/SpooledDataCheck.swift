internal import Commands
internal import Console
internal import Door
internal import Host
internal import Membership
internal import Queue
internal import UploadSpool

/// The checks of `doctor` on the door and its uploads. It changes nothing.
struct SpooledDataCheck {
    private let location: StoreLocation
    private let limits: UploadLimits
    private let routes: UploadRoutes?

    /// Damaged uploads that are listed.
    private static let maxDamaged = 20

    /// - Parameters:
    ///   - limits: of the configuration.
    ///   - routes: of the configuration; nil where it cannot be read.
    init(_ location: StoreLocation, _ limits: UploadLimits, _ routes: UploadRoutes?) {
        self.location = location
        self.limits = limits
        self.routes = routes
    }

    func findings() -> [Finding] {
        // The check of the shards says why there is no store.
        guard let queue = try? QueueAccess(opening: location) else { return [] }
        let door = queue.door
        let running =
            queue.stalledDoor.map(Finding.init(stalled:))
            ?? Finding(
                "door", door != nil ? .ok : .note,
                door != nil
                    ? "running\(door?.pid.map { ", pid \($0)" } ?? "")"
                    : "not running: “sluice door” or “sluice up --listen” starts one")
        return [running] + uploads(queue)
    }

    private func uploads(_ queue: QueueAccess) -> [Finding] {
        let directory = location.directory
        let spool = SpoolDirectory(path: directory.uploads)
        let check = queue.spoolCheck
        var result = SpoolCheck.Result()
        for shard in 0..<queue.shardCount {
            // The check of the shards says why one cannot be read.
            try? check.run(shard: shard, into: &result)
        }
        let figures = SpoolFigures.read(directory, limits, hasDoor: queue.door != nil) { result.bytes }
        let summary =
            "\(result.open) open, \(result.complete) complete; spool \(figures?.summary ?? Figures.bytes(result.bytes))"
        var findings = [Finding("uploads", .ok, summary)]
        if let routes {
            findings += MissingRoutes.sentences(result.routes, in: routes).map { Finding("route", .warning, $0) }
        }
        findings += unclaimed(spool)
        if result.lacksAll, !queue.hasOwnSpool {
            findings.append(Finding("uploads", .broken, result.absence(of: spool)))
            return findings
        }
        findings += result.damaged.prefix(Self.maxDamaged).map { damage in
            let waits = damage.upload.state == .open && damage.size == nil
            return Finding("upload", waits ? .warning : .broken, Self.sentence(damage))
        }
        if result.damaged.count > Self.maxDamaged {
            findings.append(
                Finding("upload", .broken, "\(result.damaged.count - Self.maxDamaged) more uploads have lost bytes"))
        }
        return findings
    }

    private func unclaimed(_ spool: SpoolDirectory) -> [Finding] {
        let unclaimed = UnclaimedFiles(spool)
        let (files, bytes) = unclaimed.contents
        guard files > 0 else { return [] }
        let sentence =
            "\(unclaimed.path) has \(files) file\(files == 1 ? "" : "s") (\(Figures.bytes(bytes))) that a restored backup does not "
            + "know; the log of the door names them: deliver them with “sluice put”, or delete them"
        return [Finding("uploads", .note, sentence)]
    }

    private static func sentence(_ damage: SpoolCheck.Damage) -> String {
        let upload = damage.upload
        let bytes = damage.size.map { "has \($0) of its \(upload.offset) bytes" } ?? "has no file"
        let consequence =
            switch (upload.state, upload.command) {
            case (.open, _) where damage.size == nil:
                "it waits for its file until it expires; “sluice door --accept-lost-uploads” ends it at once"
            case (.open, _): "the next start of the door ends it, and its client sends the file again"
            case (_, let command?): "command \(command) cannot succeed; cancel it, and have the file sent again"
            case (_, nil): "have the file sent again, and remove it with “sluice uploads remove”"
            }
        return "\(upload.id) \(bytes) in the spool: \(consequence)"
    }
}
