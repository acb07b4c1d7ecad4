internal import ArgumentParser
internal import Commands
internal import Operations
internal import Store

struct BackupCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract: "Copy the store while it runs.",
        discussion: """
            Each shard is copied in one transaction, checked, and then put in place. The copy is a store of its own, \
            which --data can name. Collections are copied after the shards, each in one transaction; one that cannot be \
            copied does not end the others. Spooled files are not copied, nor the responses of fetch, which asks for \
            them again. Exits with 0 where everything was copied.

            EXAMPLES
              sluice backup /backup/sluice-$(date +%F)
              sluice status --data /backup/sluice-2026-03-01
            """)

    @OptionGroup var data: DataOptions
    @OptionGroup var print: PrintOptions

    @Argument(
        help: ArgumentHelp("The target: a directory that does not exist yet, or is empty.", valueName: "dir"),
        completion: .directory)
    var directory: String

    func run() throws {
        let (_, store) = try data.store()
        SignalHandling.exits { [directory] in DataDirectory(path: directory).removeUnfinished(store.shardCount) }
        try store.backup(to: directory) { shard in
            Diagnostics.showStatus { _ in "shard \(shard + 1) of \(store.shardCount) copied" }
        }
        let (collections, failures) = try copyCollections()
        Diagnostics.clearStatus()
        if print.json {
            let failed = failures.map { name, error in
                JSONValue.object([.init("collection", .string(name)), .init("message", .string(error.description))])
            }
            Output.line(
                JSONValue.object([
                    .init("directory", .string(directory)), .init("shards", .integer(Int64(store.shardCount))),
                    .init("collections", .integer(Int64(collections))), .init("failed", .array(failed)),
                ]).bytes)
        } else {
            let more = collections == 0 ? "" : " and \(collections) \(collections == 1 ? "collection" : "collections")"
            Output.line("\(store.shardCount) shards\(more) copied to \(directory)")
        }
        guard let first = failures.first else { return }
        Output.flush()
        for (name, error) in failures { Diagnostics.say("the collection “\(name)” was not copied: \(error)") }
        throw ExitError(CollectionCommand.code(first.error.problem), nil)
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
