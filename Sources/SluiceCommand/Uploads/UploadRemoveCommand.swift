internal import ArgumentParser
internal import Commands
internal import Glibc
internal import Host
internal import Queue

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

    func run() throws {
        let queue = try data.queue()
        var isRefused = false
        for part in ids {
            guard let id = part.id else {
                throw ExitError(.usage, "“\(part)” is a part of an id; give the whole id of an upload")
            }
            let removal: UploadRemoval
            do { removal = try queue.removeUpload(id) } catch let error as SystemError {
                throw ExitError(.cannotWrite, "\(error); the door removes it within a day")
            }
            let outcome: String
            switch removal {
            case .missing: throw ExitError(.input, "there is no upload \(id) in \(data.place)")
            case .ended: outcome = "has ended before"
            case .isCommand(let command): outcome = "has become command \(command); cancel that instead"
            case .removed: outcome = "removed"
            }
            if removal != .removed { isRefused = true }
            if print.json {
                Output.line(
                    JSONValue.object([
                        .init("id", .string(id.description)), .init("removed", .bool(removal == .removed)),
                        .init("outcome", .string(outcome)),
                    ]).bytes)
            } else {
                Output.line("\(id): \(outcome)")
            }
        }
        try data.warn(of: queue)
        if isRefused { throw ExitError(.failed, nil) }
    }
}
