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
            which --data can name. Collections are copied after the shards. Spooled files are not copied.

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
        let collections = try copyCollections()
        Diagnostics.clearStatus()
        if print.json {
            Output.line(
                JSONValue.object([
                    .init("directory", .string(directory)), .init("shards", .integer(Int64(store.shardCount))),
                    .init("collections", .integer(Int64(collections))),
                ]).bytes)
        } else {
            let more = collections == 0 ? "" : " and \(collections) \(collections == 1 ? "collection" : "collections")"
            Output.line("\(store.shardCount) shards\(more) copied to \(directory)")
        }
    }

    private func copyCollections() throws -> Int {
        let source = CollectionDirectory(data: data.path)
        return try CollectionCommand.run {
            let names = try source.names()
            for name in names {
                Diagnostics.showStatus { _ in "copying the collection \(name)" }
                try CollectionReader(source, name).copy(to: CollectionDirectory(data: directory))
            }
            return names.count
        }
    }
}
