internal import ArgumentParser
internal import Commands
internal import Console
internal import Host
internal import Queue
internal import Sync

struct BackupCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract: "Copy the store while it runs.",
        discussion: """
            Each shard is copied as it is at one moment, checked, and then put in place, while other processes write. \
            --data can name the copy: it can be looked at, and runs nothing until “sluice restore” has put it back. \
            Collections are copied after the shards, each in one transaction. A shard or a collection that cannot be copied \
            does not end the others. Spooled files are not copied, nor the responses of fetch, which asks for them again. \
            Exits with 0 where everything was copied.

            EXAMPLES
              sluice backup /backup/sluice-$(date +%F)
              sluice status --data /backup/sluice-2026-03-01
              sluice restore /backup/sluice-2026-03-01
            """)

    @OptionGroup var data: DataOptions
    @OptionGroup var print: PrintOptions

    @Argument(
        help: ArgumentHelp("The target: a directory that does not exist yet, or is empty.", valueName: "dir"),
        completion: .directory)
    var directory: String

    func validate() throws { try DataOptions.refuseURL(directory) }

    func run() throws {
        let queue = try data.queue()
        SignalHandling.exits { [directory] in queue.removeUnfinishedBackup(in: directory) }
        let lost = try queue.backup(to: directory) { progress in
            Diagnostics.showStatus { _ in
                "shard \(progress.shard + 1) of \(queue.shardCount): "
                    + (progress.isChecking
                        ? "checking" : "\(Figures.bytes(progress.bytes)) of \(Figures.bytes(progress.total))")
            }
        }
        let (collections, failures) = try copyCollections()
        Diagnostics.clearStatus()
        let copied = queue.shardCount - lost.count
        if print.json {
            let failed = failures.map { name, error in
                JSONValue.object([.init("collection", .string(name)), .init("message", .string(error.description))])
            }
            let lostShards = lost.map { shard, error in
                JSONValue.object([
                    .init("shard", shard.map { .integer(Int64($0)) } ?? .null),
                    .init("message", .string(error.message)),
                ])
            }
            Output.line(
                JSONValue.object([
                    .init("directory", .string(directory)), .init("shards", .integer(Int64(copied))),
                    .init("collections", .integer(Int64(collections))), .init("failed", .array(lostShards + failed)),
                ]).bytes)
        } else {
            let more = collections == 0 ? "" : " and \(collections) \(collections == 1 ? "collection" : "collections")"
            Output.line("\(copied) shard\(copied == 1 ? "" : "s")\(more) copied to \(directory)")
        }
        Output.flush()
        for (shard, error) in lost {
            Diagnostics.say("shard \(shard.map { "\($0)" } ?? "") was not copied: \(error.message)")
        }
        for (name, error) in failures { Diagnostics.say("the collection “\(name)” was not copied: \(error)") }
        if let first = lost.first { throw ExitError(ExitError(first.error).code, nil) }
        if let first = failures.first { throw ExitError(CollectionCommand.code(first.error.problem), nil) }
    }

    /// - Returns: how many were copied, and the others with the reason.
    private func copyCollections() throws -> (count: Int, failures: [(name: String, error: CollectionError)]) {
        let target = CollectionDirectory(data: directory)
        var count = 0
        let failures = try CollectionCommand.run {
            try CollectionDirectory(data: data.path).visit { name, reader in
                Diagnostics.showStatus { _ in "copying the collection \(name)" }
                try reader.copy(to: target)
                count += 1
            }
        }
        return (count, failures)
    }
}
