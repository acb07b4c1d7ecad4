internal import ArgumentParser
internal import Commands
internal import Console
internal import Operations
internal import Store

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
            Spooled files are not in a backup, and stay as they are.

            EXAMPLES
              sluice restore /backup/sluice-2026-03-01
              sluice restore /backup/sluice-2026-03-01 --data /var/lib/sluice
              sluice restore /backup/sluice-2026-03-01 --shard 3
            """)

    @OptionGroup var data: DataOptions
    @OptionGroup var print: PrintOptions

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Replaces only this shard, such as one that is damaged, and no collection.", valueName: "number"))
    var shard: Int?

    @Argument(help: ArgumentHelp("The backup, as “sluice backup” made it.", valueName: "dir"), completion: .directory)
    var directory: String

    func validate() throws {
        if let shard, !(0..<256).contains(shard) { throw ValidationError("--shard must be from 0 to 255.") }
    }

    func run() throws {
        let (backup, target) = (DataDirectory(path: directory), data.directory())
        let restore = try Restore(of: backup, to: target, shard: shard)
        // A signal before the shards are replaced leaves everything as it was.
        SignalHandling.exits { Restore.removeUnfinished(target) }
        let result = try restore.prepare { progress in
            Diagnostics.showStatus { _ in
                "shard \(progress.shard): "
                    + (progress.isDone || progress.bytes == progress.total
                        ? "checking" : "\(Figures.bytes(progress.bytes)) of \(Figures.bytes(progress.total))")
            }
        }
        // A signal from here on leaves the mark, and the next restore replaces the copies that are left.
        SignalHandling.exits()
        try restore.replaceShards()
        let (collections, failures) = try restoreCollections(backup, target)
        try restore.finish()
        Diagnostics.clearStatus()
        show(result, collections: collections)
        guard let first = failures.first else { return }
        Output.flush()
        for (name, error) in failures { Diagnostics.say("the collection “\(name)” was not restored: \(error)") }
        throw ExitError(CollectionCommand.code(first.error.problem), nil)
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

    private func show(_ result: RestoreResult, collections: Int) {
        let settled = { (status: CommandStatus) in Int64(result.settled[status] ?? 0) }
        if print.json {
            return Output.line(
                JSONValue.object([
                    .init("backup", .string(result.time.description)),
                    .init("shards", .array(result.shards.map { .integer(Int64($0)) })),
                    .init("collections", .integer(Int64(collections))),
                    .init("released", .integer(settled(.new))), .init("inDoubt", .integer(settled(.inDoubt))),
                    .init("cancelled", .integer(settled(.cancelled))),
                ]).bytes)
        }
        let shards = result.shards.count == 1 ? "shard \(result.shards[0])" : "\(result.shards.count) shards"
        let more = collections == 0 ? "" : " and \(collections) \(collections == 1 ? "collection" : "collections")"
        Output.line("\(shards)\(more) restored from a backup of \(result.time)")
        for (count, words) in [
            (settled(.new), "released, to run again"),
            (settled(.inDoubt), "in doubt: see “sluice list --status inDoubt”"),
            (settled(.cancelled), "cancelled as requested before the backup"),
        ] where count > 0 {
            Output.line("\(Figures.grouped(count)) claimed command\(count == 1 ? "" : "s") \(words)")
        }
    }
}
