internal import ArgumentParser
internal import Commands
internal import Console
internal import Door
internal import Fetch
internal import Host
internal import Membership
internal import Queue
internal import Sync
internal import UploadSpool

struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Check store, versions, sockets, configuration and permissions.",
        discussion: """
            Changes nothing, and may run beside everything else. It also names the causes for which commands wait, processes \
            that make no progress, and a disk without room. Exits with 70 where a shard or a collection is corrupt, and \
            with 1 for another warning.

            With --mend it sets right what the recount of flows, ordering keys and counts finds, in one transaction for each \
            shard, and says what it has changed: a flow or a command that waits for nothing then goes on. Messages between \
            shards that a restore has lost are posted again. It changes nothing where the numbers are right, and never \
            mends the file of a shard.

            EXAMPLES
              sluice doctor
              sluice doctor --mend
              sluice doctor --json | jq 'select(.state != "ok")'
            """)

    @OptionGroup var data: DataOptions
    @OptionGroup var print: PrintOptions

    @Flag(name: .long, help: "Set right the numbers of flows, ordering keys and counts that are wrong.")
    var mend = false

    func run() async throws {
        SignalHandling.exits()
        let directory = data.directory()
        let limits = await QueueCondition.uploadLimits(data, directory)
        let location = try data.location()
        let others =
            await ConfigurationCheck(data).findings() + StoredDataCheck(directory).findings()
            + SpooledDataCheck(location, limits, try? ConfiguredRoutes.read(data)).findings() + condition()
        let worst = HealthCheck(location, mends: mend).run(others: others) { finding in
            if print.json {
                Output.line(finding.json.bytes)
            } else {
                Output.line(
                    TerminalText.fit(finding.state.rawValue, width: 8) + TerminalText.fit(finding.check, width: 14)
                        + finding.sentence)
            }
            Output.flush()
        }
        switch worst {
        case .ok, .note: return
        case .warning: throw ExitError(.failed, nil)
        case .broken: throw ExitError(.internalError, nil)
        }
    }

    /// The causes for which commands do not start; nothing where there is no store, which another check reports.
    private func condition() async -> [Finding] {
        do {
            guard let queue = try? data.queue() else { return [] }
            let condition = try await QueueCondition.read(data, queue)
            return condition.findings(now: queue.now)
        } catch {
            return [Finding("waiting", .warning, ExitError(error).message ?? "\(error)")]
        }
    }
}

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

/// The checks of `doctor` on collections and stored responses. It changes nothing.
struct StoredDataCheck {
    private let directory: DataDirectory

    init(_ directory: DataDirectory) { self.directory = directory }

    func findings() -> [Finding] { collections() + responses() }

    private func collections() -> [Finding] {
        let collections = CollectionDirectory(data: directory.path)
        var findings: [Finding] = []
        do {
            findings = try collections.permissionProblems().map { Finding("permissions", .warning, $0) }
            let failures = try collections.visit { name, reader in
                let first = try reader.problems().first
                findings.append(
                    first.map {
                        Finding("collection", .broken, "\(name) is corrupt: \($0); move it away, and sync again")
                    } ?? Finding("collection", .ok, "\(name) is sound"))
            }
            return findings
                + failures.map { _, error in
                    Finding("collection", error.problem == .damaged ? .broken : .warning, "\(error)")
                }
        } catch {
            return findings + [Finding("collection", .warning, "\(error)")]
        }
    }

    private func responses() -> [Finding] {
        switch ResponseStore.condition(of: directory.cache) {
        case .missing: []
        case .sound(let count): [Finding("responses", .ok, "\(count) stored")]
        case .lost(let sentence): [Finding("responses", .note, sentence)]
        case .unreadable(let sentence): [Finding("responses", .warning, sentence)]
        }
    }
}
