internal import ArgumentParser
internal import BuiltIn
internal import Commands
internal import Console
internal import FileOps
internal import HTTPClient
internal import Queue

struct RequestCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "request",
        abstract: "Send an HTTP request. Prints its UUID, or with --wait the answer.",
        discussion: """
            Any method may be sent but CONNECT and TRACE. GET, HEAD, OPTIONS, PUT and DELETE are repeated where an answer \
            was lost; a POST or PATCH then waits for a person, unless --idempotent yes says that it may be repeated. \
            Redirects of GET and HEAD are followed, without the credentials at another origin.

            With --wait the body of the answer is printed instead of the UUID, up to 64 KiB; --json prints the UUID, the \
            status and the headers too. A body with Content-Encoding gzip or deflate is decoded; --raw leaves it as it came.

            EXAMPLES
              sluice request https://api.example.com/v1/quotes --wait
              sluice request POST https://api.example.com/v1/orders --json-body '{"a":1}' --wait
              sluice request POST https://api.example.com/v1/export --json-body '{"a":1}' --save-to export.csv
              sluice request DELETE https://api.example.com/v1/orders/7 --accept 2xx,404
              sluice request https://api.example.com/v1/log.gz --raw --save-to log.gz
              sluice request PUT https://api.example.com/v1/photo --body-file photo.jpg --header 'X-Tag: a'
            """)

    @OptionGroup var data: DataOptions
    @OptionGroup var print: PrintOptions
    @OptionGroup var fields: SubmitFields

    @Argument(help: ArgumentHelp("The method; or the URL of a GET.", valueName: "method-or-url"))
    var first: String

    @Argument(help: ArgumentHelp("The URL, after a method.", valueName: "url"))
    var second: String?

    @Option(
        name: .long, parsing: .singleValue,
        help: ArgumentHelp("A header, as in 'X-Tag: nightly'. May be given several times.", valueName: "header"))
    var header: [String] = []

    @Option(name: .long, help: ArgumentHelp("The body, as text.", valueName: "text"))
    var body: String?

    @Option(name: .long, help: ArgumentHelp("The body, as JSON.", valueName: "json"))
    var jsonBody: String?

    @Option(
        name: .long, help: ArgumentHelp("A file whose content is the body. It must not change.", valueName: "file"),
        completion: .file())
    var bodyFile: String?

    @Option(
        name: .long,
        help: ArgumentHelp("The statuses that are a success, as in 2xx,404. (default: 2xx)", valueName: "statuses"))
    var accept: String?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Redirects that are followed at most. (default: 5 for GET and HEAD, else 0)", valueName: "count"))
    var redirects: Int?

    @Option(
        name: .long,
        help: ArgumentHelp("A file for the body of the answer, instead of the result.", valueName: "file"),
        completion: .file())
    var saveTo: String?

    @Flag(name: .long, help: "Keep the body as it comes, also where it has a Content-Encoding.")
    var raw = false

    @Option(
        name: .long, parsing: .singleValue,
        help: ArgumentHelp("A response header that the result has beside the usual ones.", valueName: "name"))
    var keepHeader: [String] = []

    @Option(
        name: .long,
        help: ArgumentHelp("The longest that the request may take, in whole seconds, as in 30s.", valueName: "time"))
    var timeout: DurationArgument?

    @Flag(name: .long, help: "Wait for the answer and print it; exit 1 where the request has not succeeded.")
    var wait = false

    func validate() throws {
        if second == nil, !first.contains("://") {
            throw ValidationError("Give a URL, or a method and a URL: '\(first)' is not a URL.")
        }
        if [body, jsonBody, bodyFile].compactMap(\.self).count > 1 {
            throw ValidationError("--body, --json-body and --body-file exclude each other.")
        }
        try fields.requireKeyOfPeriod()
        _ = try HeaderArgument.members(header)
    }

    func run() async throws {
        SignalHandling.exits()
        let registry = BuiltInOperations.registry(submission: .init(umask: CommandLineRun.inheritedUmask))
        let draft = try CommandDraft(
            type: CommandType.request, payload: try payload(), options: fields.options, registry: registry)
        let client = try data.client(registry)
        let ids = try await SubmissionPrinter(client: client, asJSON: print.json, isQuiet: wait)
            .submit([draft], labels: [second ?? first])
        if wait, let id = ids.first {
            try await CompletionWaiter(client: client, ids: ids).run()
            ResultPrinter(asJSON: print.json).show(try await client.wait(for: id))
        }
        await client.close()
    }

    private func payload() throws -> JSONValue {
        var members: [JSONValue.Member] = [.init("url", .string(second ?? first))]
        if second != nil { members.append(.init("method", .string(first.uppercased()))) }
        let headers = try HeaderArgument.members(header)
        if !headers.isEmpty { members.append(.init("headers", .object(headers))) }
        if let body { members.append(.init("body", .string(body))) }
        if let jsonBody {
            do throws(JSONError) {
                members.append(.init("json", try JSONValue(parsing: jsonBody.utf8)))
            } catch {
                throw ExitError(.data, "--json-body is not valid JSON: \(error)")
            }
        }
        if let bodyFile { members.append(.init("bodyFile", .string(bodyFile))) }
        if let accept { members.append(.init("accept", .string(accept))) }
        if let redirects { members.append(.init("redirects", .integer(Int64(redirects)))) }
        if let saveTo { members.append(.init("saveTo", .string(saveTo))) }
        if raw { members.append(.init("raw", true)) }
        if !keepHeader.isEmpty { members.append(.init("keepHeaders", .array(keepHeader.map { .string($0) }))) }
        if let timeout {
            members.append(.init("timeout", .integer(max((timeout.duration.milliseconds + 999) / 1000, 1))))
        }
        return .object(members)
    }
}

/// Prints the result of a command that has succeeded.
struct ResultPrinter {
    let asJSON: Bool

    func show(_ outcome: CommandOutcome) {
        let result = outcome.result.map { HTTPHeaderRedaction.shown(result: JSONValue(stored: $0)) } ?? .null
        if asJSON {
            let members: [JSONValue.Member] = [
                .init("id", .string(outcome.id.description)), .init("status", .string(outcome.status.name)),
                .init("result", result),
            ]
            Output.line(JSONValue.object(members).bytes)
        } else if let text = result["body"]?.string {
            show(text, isBase64: result["bodyEncoding"]?.string == "base64")
            if result["bodyTruncated"]?.bool == true {
                Diagnostics.say("the answer is longer than 64 KiB: this is its start")
            }
            if let status = result["status"]?.integer, (300..<400).contains(status) {
                Output.flush()
                Diagnostics.say("\(status): Location: \(result["headers"]?["location"]?.string ?? "none")")
            }
        }
        Output.flush()
    }

    /// The bytes of a body as they came; a text ends in a line break in a terminal.
    private func show(_ text: String, isBase64: Bool) {
        let bytes = isBase64 ? Base64.decode(text.utf8) ?? [] : Array(text.utf8)
        Output.append { $0 += bytes }
        if Output.isTerminal, bytes.last != UInt8(ascii: "\n") { Output.line("") }
    }
}
