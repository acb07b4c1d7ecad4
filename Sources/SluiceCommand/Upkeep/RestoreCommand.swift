internal import ArgumentParser
internal import Commands
internal import Console
internal import Host
internal import Membership
internal import Queue
internal import Sync

struct RestoreCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Put a backup back.",
        discussion: """
            Replaces the shards and the collections of the data directory by those of a backup, or makes the data directory \
            from it. Everything on the data directory must be stopped: up, coordinator, workers and producers. A process \
            that is not is named, and the exit code is 75. The backup is checked before anything is replaced. A restore \
            that is interrupted later leaves a store that every process refuses; restore again.

            Commands that a worker had claimed when the backup was made run again; those that are not idempotent and may \
            have been sent are in doubt, see “sluice resolve”. Commands that ended after the backup was made run again too. \
            Spooled files are not in a backup, and stay where they are; open uploads whose files are not there end. Bytes that the backup does \
            not know are kept in “unclaimed” of the spool when the door starts. A command that waits for one of another shard is told \
            its end again; where the restored shard does not have that one, it counts as failed.

            A copy of a data directory that was made with other programs is refused by up and the parts that run alone (78), \
            because it and the original would execute the same commands. --adopt puts such a copy into use where it is, and \
            settles its claimed commands as above. A directory that was moved is not a copy.

            EXAMPLES
              sluice restore /backup/sluice-2026-03-01
              sluice restore /backup/sluice-2026-03-01 --data /var/lib/sluice
              sluice restore /backup/sluice-2026-03-01 --shard 3
              sluice restore --adopt /srv/sluice-data    (a copy whose original no longer runs)
            """)

    @OptionGroup var data: DataOptions
    @OptionGroup var print: PrintOptions

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Replaces only this shard, such as one that is damaged, and no collection.", valueName: "number"))
    var shard: Int?

    @Flag(name: .long, help: "Put a copied data directory into use, where the original no longer runs.")
    var adopt = false

    @Argument(help: ArgumentHelp("The backup, as “sluice backup” made it.", valueName: "dir"), completion: .directory)
    var directory: String

    func validate() throws {
        if let shard, !(0..<256).contains(shard) { throw ValidationError("--shard must be from 0 to 255.") }
        if adopt, shard != nil { throw ValidationError("--adopt takes the whole directory, without --shard.") }
        try DataOptions.refuseURL(directory)
    }

    /// The result of a restore, for the output.
    private struct Outcome {
        /// When the backup was made.
        var time: Timestamp
        var shards: [Int]
        var settled: SettledStore
        var collections: Int
        var failures: [(name: String, error: CollectionError)]
        /// Open uploads that were ended.
        var lostUploads = 0
        /// Those that were not ended, where the spool may not be mounted, and the reason.
        var missing: (uploads: Int, reason: String)?
    }

    func run() throws {
        if try data.location().isServer {
            throw ExitError(
                .usage,
                "restore replaces the files of a data directory; the store \(data.place) is restored with its server")
        }
        if adopt { return try adoptCopy() }
        var outcome = try restore()
        // The store can be opened now that the locks of the restore are free.
        (outcome.lostUploads, outcome.missing) = try endLostUploads()
        show(outcome)
        guard let first = outcome.failures.first else { return }
        Output.flush()
        for (name, error) in outcome.failures {
            Diagnostics.say("the collection “\(name)” was not restored: \(error)")
        }
        throw ExitError(CollectionCommand.code(first.error.problem), nil)
    }

    private func adoptCopy() throws {
        SignalHandling.exits()
        let (original, settled) = try StoreRestore.adopt(DataDirectory(path: directory)) { shard in
            Diagnostics.showStatus { _ in "shard \(shard): checking" }
        }
        Diagnostics.clearStatus()
        if print.json {
            return Output.line(
                JSONValue.object(
                    [.init("adopted", .string(directory)), .init("original", .string(original))]
                        + settled.members
                ).bytes)
        }
        Output.line(
            "\(directory), a copy of \(original), can be used; the original must not run any more")
        settled.showClaimed()
        showLostParents(settled)
    }

    /// Ends open uploads whose files are not in the spool, where the whole store was restored.
    private func endLostUploads() throws -> (ended: Int, missing: (uploads: Int, reason: String)?) {
        guard shard == nil else { return (0, nil) }
        return try data.queue().endLostUploads()
    }

    private func restore() throws -> Outcome {
        let (backup, target) = (DataDirectory(path: directory), data.directory())
        let restore = try StoreRestore(of: backup, to: target, shard: shard)
        // A signal before the shards are replaced leaves everything as it was.
        SignalHandling.exits { StoreRestore.removeUnfinished(target) }
        let (time, shards) = try restore.prepare { progress in
            Diagnostics.showStatus { _ in
                "shard \(progress.shard): "
                    + (progress.isChecking
                        ? "checking" : "\(Figures.bytes(progress.bytes)) of \(Figures.bytes(progress.total))")
            }
        }
        // A signal from here on leaves the mark, and the next restore replaces the copies that are left.
        SignalHandling.exits()
        let settled = try restore.replaceShards()
        let (collections, failures) = try restoreCollections(backup, target)
        try restore.finish()
        Diagnostics.clearStatus()
        return Outcome(
            time: time, shards: shards, settled: settled, collections: collections, failures: failures)
    }

    /// - Returns: how many were restored, and the others with the reason.
    private func restoreCollections(
        _ backup: DataDirectory, _ target: DataDirectory
    ) throws -> (count: Int, failures: [(name: String, error: CollectionError)]) {
        let (copies, collections) = (CollectionDirectory(data: backup.path), CollectionDirectory(data: target.path))
        guard shard == nil else { return (0, []) }
        var count = 0
        let failures = try CollectionCommand.run {
            try copies.visit { name, _ in
                Diagnostics.showStatus { _ in "restoring the collection \(name)" }
                try collections.restore(name, from: copies)
                count += 1
            }
        }
        return (count, failures)
    }

    private func show(_ outcome: Outcome) {
        let (collections, uploads) = (outcome.collections, outcome.lostUploads)
        if print.json {
            return Output.line(
                JSONValue.object(
                    [
                        .init("backup", .string(outcome.time.description)),
                        .init("shards", .array(outcome.shards.map { .integer(Int64($0)) })),
                        .init("collections", .integer(Int64(collections))),
                        .init("lostUploads", .integer(Int64(uploads))),
                        .init("missingUploads", .integer(Int64(outcome.missing?.uploads ?? 0))),
                    ] + outcome.settled.members
                ).bytes)
        }
        let shards = outcome.shards.count == 1 ? "shard \(outcome.shards[0])" : "\(outcome.shards.count) shards"
        let more = collections == 0 ? "" : " and \(collections) \(collections == 1 ? "collection" : "collections")"
        Output.line("\(shards)\(more) restored from a backup of \(outcome.time)")
        outcome.settled.showClaimed()
        if uploads > 0 {
            Output.line("\(uploads) open upload\(uploads == 1 ? "" : "s") ended: the spool does not have the files")
        }
        if let missing = outcome.missing { Output.line("the door will not start yet: \(missing.reason)") }
        showLostParents(outcome.settled)
    }

    /// - Parameter claimed: numbers of commands by their new status.
    static func showClaimed(_ claimed: [CommandStatus: Int]) {
        for (status, words) in [
            (CommandStatus.new, "released, to run again"),
            (.inDoubt, "in doubt: see “sluice list --status inDoubt”"),
            (.cancelled, "cancelled as requested before the copy was made"),
        ] {
            guard let count = claimed[status], count > 0 else { continue }
            Output.line("\(Figures.grouped(Int64(count))) claimed command\(count == 1 ? "" : "s") \(words)")
        }
    }

    private func showLostParents(_ settled: SettledStore) {
        let lost = settled.lostParents
        guard lost > 0 else { return }
        Output.line(
            "\(Figures.grouped(Int64(lost))) command\(lost == 1 ? " waits" : "s wait") for commands that are not in the restored "
                + "store, which count as failed: see “sluice doctor”")
    }
}

extension SettledStore {
    var members: [JSONValue.Member] {
        [
            .init("released", .integer(Int64(claimed[.new] ?? 0))),
            .init("inDoubt", .integer(Int64(claimed[.inDoubt] ?? 0))),
            .init("cancelled", .integer(Int64(claimed[.cancelled] ?? 0))),
            .init("messages", .integer(Int64(messages))),
            .init("lostParents", .integer(Int64(lostParents))),
        ]
    }

    func showClaimed() { RestoreCommand.showClaimed(claimed) }
}
