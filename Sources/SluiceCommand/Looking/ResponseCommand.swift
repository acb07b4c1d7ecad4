internal import ArgumentParser
internal import Commands
internal import Console
internal import Fetch
internal import Glibc
internal import Host

struct ResponseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "response",
        abstract: "Look at the responses that fetch keeps, and delete them.",
        discussion: """
            EXAMPLES
              sluice response list
              sluice response show https://api.example.com/quotes
              sluice response forget https://api.example.com/quotes
              sluice response forget --all
            """,
        subcommands: [List.self, Show.self, Forget.self])

    /// The store of responses; nil where no response was ever kept.
    static func store(_ directory: DataDirectory) throws -> ResponseStore? {
        guard access("\(directory.cache)/index.sqlite", F_OK) == 0 else { return nil }
        do { return try ResponseStore(directory: directory.cache) } catch {
            throw ExitError(.internalError, "\(error)")
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the stored responses: status, size, age, freshness and URL.",
            discussion: "EXAMPLE\n  sluice response list --json")

        @OptionGroup var data: DataOptions
        @OptionGroup var print: PrintOptions

        func run() async throws {
            guard let store = try ResponseCommand.store(data.directory()) else {
                if !print.json { Diagnostics.say("no response is stored") }
                return
            }
            for response in try store.responses() {
                if print.json { Output.line(response.json.bytes) } else { Output.line(response.line) }
            }
            let usage = try store.usage()
            if !print.json {
                Diagnostics.say(
                    "\(usage.count) \(usage.count == 1 ? "response" : "responses"), \(Figures.bytes(usage.bytes))")
            }
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print the headers of the stored responses to a URL.",
            discussion: "EXAMPLE\n  sluice response show https://api.example.com/quotes")

        @OptionGroup var data: DataOptions
        @OptionGroup var print: PrintOptions

        @Argument(help: ArgumentHelp("The URL.", valueName: "url"))
        var url: String

        func run() async throws {
            let responses = try ResponseCommand.store(data.directory())?.responses(to: url) ?? []
            guard !responses.isEmpty else { throw ExitError(.input, "no response to \(url) is stored") }
            for response in responses {
                if print.json {
                    Output.line(response.json.bytes)
                } else {
                    for line in response.head { Output.line(line) }
                }
            }
        }
    }

    struct Forget: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Delete stored responses. Prints their number.",
            discussion: "EXAMPLE\n  sluice response forget --all")

        @OptionGroup var data: DataOptions
        @OptionGroup var print: PrintOptions

        @Argument(help: ArgumentHelp("The URL.", valueName: "url"))
        var url: String?

        @Flag(name: .long, help: "Delete all responses.")
        var all = false

        func validate() throws {
            guard (url == nil) == all else { throw ValidationError("Name a URL, or give --all.") }
        }

        func run() async throws {
            let count = try ResponseCommand.store(data.directory())?.forget(responsesTo: url) ?? 0
            if print.json {
                Output.line(JSONValue.object([.init("forgotten", .integer(Int64(count)))]).bytes)
            } else {
                Output.line("\(count)")
            }
        }
    }
}
