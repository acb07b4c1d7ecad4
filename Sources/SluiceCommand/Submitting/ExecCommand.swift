internal import ArgumentParser
internal import Commands
internal import Console
internal import Glibc
internal import HTTPClient
internal import Host
internal import Queue

struct ExecCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "exec",
        abstract: "Run a program of sluice.yaml. Prints its UUID, or with --wait its output.",
        discussion: """
            Programs are off by default. sluice.yaml enables them, and lists what may run; a submit names one of them, \
            never a path. Then restart the workers:
              exec: {enabled: true}
              programs: [thumbnail]
              program:
                thumbnail:
                  path: /usr/local/bin/thumbnail
                  allowArguments: ["/srv/media/*"]
            deploy/sluice.example.yaml has every key. Options stand before a “--”; all behind it are arguments. No shell \
            reads them.

            Exit code 0 is a success. 69, 71, 74, 75 and codes without a meaning in sysexits.h are tried again, up to \
            --retry-limit; the others of sysexits.h, 126 and 127 end the command. Where its worker dies, the program is \
            ended, and the command waits for a person (inDoubt), unless --idempotent yes says that it may run again.

            A program may write JSON lines to descriptor 3 ($SLUICE_REPORT_FD): {"progress": {"offset": 1, "total": 9}}, \
            {"values": {"width": 640}}, which become part of the result, and {"retryAfter": 30}, in seconds.

            EXAMPLES
              sluice exec thumbnail /srv/media/a.jpg --wait
              sluice exec --timeout 5m --idempotent yes thumbnail -- -size 640 /srv/media/a.jpg
              sluice exec import --stdin-file rows.csv --env REGION=eu --unique-key rows-today
              hostname | sluice exec register --stdin - --wait
              printf '{"payload": {"program": "thumbnail", "arguments": ["%s"]}}\\n' /srv/media/*.jpg | sluice submit exec -
            """)

    @OptionGroup var data: DataOptions
    @OptionGroup var print: PrintOptions
    @OptionGroup var fields: SubmitFields

    @Argument(help: ArgumentHelp("The name of the program in sluice.yaml.", valueName: "program"))
    var program: String

    @Argument(
        help: ArgumentHelp("Its arguments. Those that begin with “-” stand behind “--”.", valueName: "arguments"))
    var arguments: [String] = []

    @Option(
        name: .long,
        help: ArgumentHelp("Its input, as text; - reads standard input now. At most 1 MiB.", valueName: "text"))
    var stdin: String?

    @Option(
        name: .long,
        help: ArgumentHelp("A file that is its input. It is read when the program runs.", valueName: "file"),
        completion: .file())
    var stdinFile: String?

    @Option(
        name: .long, parsing: .singleValue,
        help: ArgumentHelp(
            "A variable, as in SIZE=640; without = the value that it has here. May be given several times. It is stored.",
            valueName: "name=value"))
    var env: [String] = []

    @Option(
        name: .long,
        help: ArgumentHelp("Its working directory, in the directory of its settings.", valueName: "dir"),
        completion: .directory)
    var directory: String?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "How long it may run: TERM then, and KILL after the grace. 0 sets no limit. (default: 1h)",
            valueName: "duration"))
    var timeout: DurationArgument?

    @Option(
        name: .long,
        help: ArgumentHelp("How long it may run without any output. (default: no limit)", valueName: "duration"))
    var idleTimeout: DurationArgument?

    @Option(name: .long, help: ArgumentHelp("From TERM to KILL. (default: 10s)", valueName: "duration"))
    var grace: DurationArgument?

    @Flag(name: .long, help: "Wait for its end and print its output; exit 1 where it has not succeeded.")
    var wait = false

    func validate() throws {
        if stdin != nil, stdinFile != nil { throw ValidationError("--stdin and --stdin-file exclude each other.") }
        for text in env where text.isEmpty || text.beginsWithBytes(of: "=") {
            throw ValidationError("--env must be a name, or name=value.")
        }
        try fields.requireKeyOfPeriod()
    }

    func run() async throws {
        SignalHandling.exits()
        let registry = try await SubmitRegistry.registry(for: CommandType.exec, data)
        let draft = try CommandDraft(
            type: CommandType.exec, payload: try payload(), options: fields.options, registry: registry)
        let client = try data.client(registry)
        let ids = try await SubmissionPrinter(client: client, asJSON: print.json, isQuiet: wait)
            .submit([draft], labels: [program])
        if wait, let id = ids.first {
            do {
                try await CompletionWaiter(client: client, ids: ids).run()
            } catch let error as ExitError {
                // The reason has its last line.
                if let result = try await client.result(id), !print.json { ExecResultPrinter.showErrors(result) }
                throw error
            }
            ExecResultPrinter(asJSON: print.json).show(try await client.wait(for: id))
        }
        await client.close()
    }

    // MARK: Payload

    private func payload() throws -> JSONValue {
        var members: [JSONValue.Member] = [
            .init("program", .string(program)), .init("arguments", .array(arguments.map { .string($0) })),
        ]
        if let stdin { members.append(.init("stdin", .string(stdin == "-" ? try Self.standardInput() : stdin))) }
        if let stdinFile { members.append(.init("stdinFile", .string(try Self.absolute(stdinFile)))) }
        let variables = try env.map(Self.variable)
        if !variables.isEmpty { members.append(.init("environment", .object(variables))) }
        if let directory { members.append(.init("directory", .string(try Self.absolute(directory)))) }
        if let timeout { members.append(.init("timeout", Self.seconds(timeout))) }
        if let idleTimeout { members.append(.init("idleTimeout", Self.seconds(idleTimeout))) }
        if let grace { members.append(.init("grace", Self.seconds(grace))) }
        return .object(members)
    }

    private static func seconds(_ argument: DurationArgument) -> JSONValue {
        .number(argument.duration / .seconds(1))
    }

    private static func variable(_ text: String) throws -> JSONValue.Member {
        if let mark = text.utf8.firstIndex(of: UInt8(ascii: "=")) {
            return .init(String(text[..<mark]), .string(String(Substring(text.utf8[mark...].dropFirst()))))
        }
        guard let value = try ByteText.variable(text) else {
            throw ExitError(.usage, "--env \(text): there is no such variable here; write \(text)=VALUE")
        }
        return .init(text, .string(value))
    }

    /// A relative path as the worker finds it.
    private static func absolute(_ path: String) throws -> String {
        if path.beginsWithBytes(of: "/") { return path }
        guard let found = realpath(path, nil) else { throw ExitError(.input, "\(SystemError("find", path))") }
        defer { free(found) }
        guard let text = String(validatingCString: found) else {
            throw ExitError(.input, "the directory of \(path) has a name that is not UTF-8; rename it")
        }
        return text
    }

    private static func standardInput() throws -> String {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while bytes.count <= Command.payloadLimit {
            let count = read(StandardInput.descriptor, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw ExitError(.input, "cannot read standard input: \(SystemError().reason)") }
            guard count > 0 else {
                guard let text = String(validating: bytes, as: UTF8.self) else {
                    throw ExitError(.data, "standard input is not UTF-8; write it to a file, and use --stdin-file")
                }
                return text
            }
            bytes += buffer[..<count]
        }
        throw ExitError(
            .data,
            "standard input has more than \(Command.payloadLimit) bytes; write it to a file, and use --stdin-file")
    }
}

/// Prints the result of a program that has succeeded: its outputs to the same descriptors, as far as they are
/// stored.
struct ExecResultPrinter {
    let asJSON: Bool

    func show(_ outcome: CommandOutcome) {
        let result = outcome.result.map { JSONValue(stored: $0) } ?? .null
        if asJSON {
            let members: [JSONValue.Member] = [
                .init("id", .string(outcome.id.description)), .init("status", .string(outcome.status.name)),
                .init("result", result),
            ]
            Output.line(JSONValue.object(members).bytes)
        } else {
            let (output, error) = (Self.bytes(result, "stdout"), Self.bytes(result, "stderr"))
            Output.append { $0 += output }
            if Output.isTerminal, let last = output.last, last != UInt8(ascii: "\n") { Output.line("") }
            Output.flush()
            if !error.isEmpty { Diagnostics.write(String(decoding: error, as: UTF8.self)) }
            for name in ["stdout", "stderr"] { Self.tellOfRest(result, name) }
        }
        Output.flush()
    }

    /// Prints the error output of a program that has failed, unless it is the one line that the reason has.
    static func showErrors(_ result: [UInt8]) {
        let result = JSONValue(stored: result)
        let error = bytes(result, "stderr")
        guard error.count(where: { $0 == UInt8(ascii: "\n") }) > 1 else { return }
        Diagnostics.write(String(decoding: error, as: UTF8.self))
        tellOfRest(result, "stderr")
    }

    private static func bytes(_ result: JSONValue, _ name: String) -> [UInt8] {
        guard let text = result[name]?.string else { return [] }
        return result["\(name)Encoding"]?.string == "base64" ? Base64.decode(text.utf8) ?? [] : Array(text.utf8)
    }

    private static func tellOfRest(_ result: JSONValue, _ name: String) {
        let count = result["\(name)Bytes"]?.integer ?? 0
        if let file = result["\(name)File"]?.string {
            Diagnostics.say("\(name): \(count) bytes in \(file)")
        } else if result["\(name)Truncated"]?.bool == true {
            Diagnostics.say("\(name) had \(count) bytes, of which a part is stored")
        }
    }
}
