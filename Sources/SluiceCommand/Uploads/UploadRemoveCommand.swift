internal import ArgumentParser
internal import Commands
internal import Glibc
internal import Host
internal import Store

struct UploadRemoveCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Remove uploads that have not become commands, with their bytes.",
        discussion: """
            The client of an open upload is told that it has ended. Cancel the command of an upload that has become one; the \
            door deletes its bytes when the command has succeeded or is pruned.

            EXAMPLES
              sluice uploads remove 01998b5e-7c1a-7d2e-9f00-3b6a1c2d4e5f
              sluice uploads list --state complete --json | jq -r 'select(.command == null) | .id' | xargs sluice uploads remove
            """)

    @OptionGroup var data: DataOptions
    @OptionGroup var print: PrintOptions

    @Argument(help: ArgumentHelp("The uploads.", valueName: "id"))
    var ids: [CommandIDPart]

    /// The door answers requests for a removed upload with 410 for this time.
    private static let memory: Duration = .seconds(86_400)

    func run() throws {
        let (directory, store) = try data.store()
        var isRefused = false
        for part in ids {
            guard let id = part.id else {
                throw ExitError(.usage, "“\(part)” is a part of an id; give the whole id of an upload")
            }
            let now = Timestamp.now
            let writes = [UploadWrite.end(id, reason: "removed by a person", due: now + Self.memory)]
            let change = try store.apply(writes, shard: id.shard(of: store.shardCount), now: now)[0].get()
            let outcome: String
            switch change.upload {
            case nil: throw ExitError(.input, "there is no upload \(id) in \(data.path)")
            case let upload? where !change.isApplied:
                isRefused = true
                outcome =
                    upload.state == .ended
                    ? "has ended before" : "has become command \(upload.command ?? id); cancel that instead"
            default:
                let path = "\(directory.uploads)/\(id)"
                guard unlink(path) == 0 || errno == ENOENT else {
                    throw ExitError(.cannotWrite, "\(SystemError("remove", path)); the door removes it within a day")
                }
                _ = try store.apply([.dropBytes(id)], shard: id.shard(of: store.shardCount), now: now)
                outcome = "removed"
            }
            if print.json {
                Output.line(
                    JSONValue.object([
                        .init("id", .string(id.description)), .init("removed", .bool(change.isApplied)),
                        .init("outcome", .string(outcome)),
                    ]).bytes)
            } else {
                Output.line("\(id): \(outcome)")
            }
        }
        try data.warn(of: store)
        if isRefused { throw ExitError(.failed, nil) }
    }
}
