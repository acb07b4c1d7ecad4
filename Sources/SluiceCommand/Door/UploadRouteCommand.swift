internal import ArgumentParser
internal import Commands
internal import Console
internal import Door
internal import FlowText
internal import Glibc
internal import Host
internal import Uploads

struct UploadRouteCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "route",
        abstract: "List and check the routes of uploads: what a finished upload becomes.",
        discussion: """
            The routes stand in sluice.yaml, and the door reads them at its start. A client names the route when it begins an \
            upload, as in POST /uploads?route=archive.

              routes:
                archive:
                  command: {type: upload, payload: {to: "https://media.example.com/in/{name}", method: PUT}}
                  qos: utility
                publish:
                  flow: {nodes: {store: {type: s3, payload: {…}}, notify: {type: webhook, payload: {…}, after: store}}}
                inbox: {}

            A route has a “command” or a “flow”, or neither: then the upload stays in the spool. It may have “qos”, \
            “uniqueKey”, “orderingKey”, “retryLimit”, “maxSize” and “retention” (how long the file is kept after the success).

            Strings of a payload may have {file} (the path of the bytes), {name}, {path} (of the file in the folder that the \
            client sends, else its name), {contentType}, {size}, {id}, {sha256}, {token} and {metadata.KEY}; “{{” and “}}” stand \
            for braces. In a URL a value is percent-encoded, and one with a slash is refused, but for {path}. Names that are \
            longer than a file system or S3 takes are refused at the creation of the upload.

            EXAMPLES
              sluice route list
              sluice route check sluice.yaml
            """,
        subcommands: [RouteListCommand.self, RouteCheckCommand.self])
}

struct RouteListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the routes of the configuration.",
        discussion: """
            EXAMPLES
              sluice route list
              sluice route list --json | jq -r 'select(.becomes == "stored") | .name'
            """)

    @OptionGroup var data: DataOptions
    @OptionGroup var print: PrintOptions

    func run() throws {
        let routes = try ConfiguredRoutes.read(data).routes
        if print.json {
            for route in routes { Output.line(JSONValue.object(route.members).bytes) }
        } else if routes.isEmpty {
            Diagnostics.say("no routes; “sluice route --help” says how to make one in sluice.yaml")
        } else {
            var table = Table([
                ("NAME", .left), ("BECOMES", .left), ("QOS", .left), ("MAX SIZE", .right), ("KEPT", .right),
            ])
            for route in routes {
                table.add([
                    route.name, route.summary, route.qos?.name ?? "-", route.maxSize.map { Figures.bytes($0) } ?? "-",
                    route.becomesCommand ? route.retention.shortText : "-",
                ])
            }
            for line in table.lines { Output.line(line) }
        }
    }
}

struct RouteCheckCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Check the routes of a file, and show what an upload would become.",
        discussion: """
            Each route is filled with the facts of a sample, and its operations check the payloads as they do at submit. \
            Nothing is submitted, and no data directory is needed. {metadata.KEY} is “sample” where --metadata does not state it. \
            Programs and receivers of webhooks are those of the same file; where it has only routes, those of the configuration.

            EXAMPLES
              sluice route check sluice.yaml
              sluice route check sluice.yaml --name 'a b.mp4' --content-type video/mp4 --metadata album=2026
              sluice route check sluice.yaml --json | jq '.commands[].payload'
            """)

    @OptionGroup var data: DataOptions
    @OptionGroup var print: PrintOptions

    @Argument(
        help: ArgumentHelp("The file; - for standard input.", valueName: "file"),
        completion: .file(extensions: ["yaml", "yml"]))
    var file: String

    @Option(name: .long, help: ArgumentHelp("The name of the sample.", valueName: "name"))
    var name = "sample.bin"

    @Option(name: .long, help: ArgumentHelp("The content type of the sample.", valueName: "type"))
    var contentType: String?

    @Option(
        name: .long, parsing: .singleValue,
        help: ArgumentHelp("Metadata of the sample; may be given several times.", valueName: "key=value"))
    var metadata: [String] = []

    @Flag(name: .long, help: "Accept types that no worker has ever been able to run.")
    var allowUnknown = false

    func validate() throws {
        for pair in metadata where pair.utf8.first == UInt8(ascii: "=") || !pair.utf8.contains(UInt8(ascii: "=")) {
            throw ValidationError("'\(pair)' is not metadata: write key=value.")
        }
    }

    func run() async throws {
        let tree = try ConfigurationFile.parse(FlowFile.bytes(file), file)
        let routes = try ConfiguredRoutes.read(file, tree).routes
        let configuration = configuration(tree)
        let registries = SubmitRegistries(configuration)
        let check = RouteCheck(
            registry: await registries.lookup(for: routes.flatMap(\.types)),
            types: allowUnknown ? nil : RouteCheck.knownTypes(data),
            webhooks: await RouteCheck.webhooks(configuration))
        let sample = try SampleFile()
        defer { sample.remove() }
        var problems = 0
        for route in routes {
            do throws(ExitError) {
                show(route, try check.result(of: route, facts(route, sample.path)))
                sayReplacement(route)
            } catch {
                problems += 1
                Output.flush()
                Diagnostics.say("\(file): \(error)")
            }
        }
        if routes.isEmpty { Diagnostics.say("\(file) has no routes; “sluice route --help” says how to make one") }
        if problems > 0 { throw ExitError(.configuration, nil) }
    }

    private func facts(_ route: UploadRoute, _ path: String) -> RouteFacts {
        var values: [String: String] = [:]
        for pair in metadata {
            guard let equals = pair.utf8.firstIndex(of: UInt8(ascii: "=")) else { continue }
            values[String(pair[..<equals])] = String(pair[pair.utf8.index(after: equals)...])
        }
        return route.sample(file: path, name: name, contentType: contentType, metadata: values)
    }

    private func sayReplacement(_ route: UploadRoute) {
        guard route.replacesByName else { return }
        Output.flush()
        Diagnostics.say(
            "\(file): The route “\(route.name)” sends files of one name to one target, where the later replaces the earlier, also "
                + "from different folders; put {path}, {id} or {sha256} into the target, or a “uniqueKey” on the route")
    }

    /// The options that find the programs and the receivers of webhooks.
    private func configuration(_ tree: LocatedValue?) -> DataOptions {
        let isWhole = tree?.members?.contains { $0.name != UploadRoutes.key } ?? false
        guard data.config == nil, file != "-", isWhole else { return data }
        var data = data
        data.config = file
        return data
    }

    private func show(_ route: UploadRoute, _ result: RouteResult) {
        let drafts = result.drafts
        if print.json {
            let commands = drafts.map { draft in
                JSONValue.object([
                    .init("type", .string(draft.type)), .init("destination", .string(draft.destination.text)),
                    .init("qos", .string(draft.qos.name)),
                    .init("payload", (try? JSONValue(parsing: draft.payload)) ?? .null),
                ])
            }
            Output.line(JSONValue.object(route.members + [.init("commands", .array(commands))]).bytes)
            return
        }
        let places = drafts.filter { $0.destination != .none }.map(\.destination.text)
        let unique = places.enumerated().filter { !places[..<$0.offset].contains($0.element) }.map(\.element)
        let to = unique.isEmpty ? "" : " to \(unique.joined(separator: ", "))"
        Output.line("\(route.name): \(route.summary)\(to)")
    }
}
