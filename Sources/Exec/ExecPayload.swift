internal import Commands
internal import Glibc
internal import Host
internal import Operations

/// The payload of an `exec`, checked. Pure.
///
/// ```
/// {"program": "thumbnail",                a name of sluice.yaml, never a path
///  "arguments": ["-i", "/in/a"],          after those of sluice.yaml; unchanged, without a shell
///  "stdin": "text",                       or "stdinFile": "/in/a"; otherwise /dev/null
///  "environment": {"SIZE": "640"},        names that the program allows
///  "directory": "/in/b",                  in the directory of the program
///  "timeout": 3600, "idleTimeout": 0,     seconds; 0: none
///  "grace": 10,                           seconds from TERM to KILL
///  "idempotent": false,                   whether an execution with an unknown end may be repeated
///  "stdout": {"keep": "tail", "limit": 65536, "to": "/in/log"}, "stderr": …,
///  "values": {}}                          part of the result, where the program reports no other value
/// ```
struct ExecPayload: Sendable, Equatable {
    enum Input: Sendable, Equatable {
        case none
        case text(String)
        /// An absolute path.
        case file(String)
    }

    struct Variable: Sendable, Equatable {
        var name: String
        var value: String
    }

    static let maxArguments = 4096
    static let maxVariables = 256
    /// 30 days.
    static let maxTimeout = 2_592_000.0
    static let maxGrace = 3600.0

    var program: String
    var arguments: [String] = []
    var input = Input.none
    var environment: [Variable] = []
    var directory: String?
    /// Nil: none.
    var timeout: Duration? = .seconds(3600)
    var idleTimeout: Duration?
    var grace: Duration = .seconds(10)
    var isIdempotent = false
    var output = ExecOutputRule()
    var error = ExecOutputRule()
    var values: [JSONValue.Member] = []

    /// Reads and checks the payload without the settings of its program.
    init(_ value: JSONValue) throws(PayloadError) {
        guard let members = value.members else {
            throw PayloadError(.data, "the payload of an exec must be an object, not \(value.kind)")
        }
        guard let program = value["program"] else {
            throw PayloadError(.data, "“program” is missing in the payload of an exec; name one of sluice.yaml")
        }
        guard let name = program.string, !name.isEmpty else {
            throw PayloadError(.data, "“program” must be the name of a program in sluice.yaml")
        }
        self.program = name
        for member in members { try read(member) }
        if value["stdin"].map({ $0 != .null }) == true, value["stdinFile"].map({ $0 != .null }) == true {
            throw PayloadError(.data, "“stdin” and “stdinFile” exclude each other; give one of them")
        }
    }

    private mutating func read(_ member: JSONValue.Member) throws(PayloadError) {
        let value = member.value
        switch member.name {
        case "program": break
        case "arguments": arguments = try Self.arguments(value)
        case "stdin" where value == .null, "stdinFile" where value == .null: break
        case "stdin": input = .text(try Self.text(member))
        case "stdinFile": input = .file(try Self.path(member))
        case "environment": environment = try Self.environment(value)
        case "directory" where value == .null: break
        case "directory": directory = try Self.path(member)
        case "timeout": timeout = Self.limit(try Self.seconds(member, max: Self.maxTimeout))
        case "idleTimeout": idleTimeout = Self.limit(try Self.seconds(member, max: Self.maxTimeout))
        case "grace": grace = try Self.seconds(member, max: Self.maxGrace)
        case "idempotent":
            guard let bool = value.bool else {
                throw PayloadError(.data, "“idempotent” must be true or false, not \(value.kind)")
            }
            isIdempotent = bool
        case "stdout": output = try ExecOutputRule(value, "stdout")
        case "stderr": error = try ExecOutputRule(value, "stderr")
        case "values":
            guard let values = value.members, values.count <= ReportReader.maxValues else {
                throw PayloadError(.data, "“values” must be an object of at most \(ReportReader.maxValues) members")
            }
            self.values = values
        default:
            throw PayloadError(
                .data,
                "unknown key “\(member.name)” in the payload of an exec; it has “program”, “arguments”, “stdin”, "
                    + "“stdinFile”, “environment”, “directory”, “timeout”, “idleTimeout”, “grace”, “idempotent”, "
                    + "“stdout”, “stderr” and “values”")
        }
    }

    // MARK: Members

    private static func text(_ member: JSONValue.Member) throws(PayloadError) -> String {
        guard let text = member.value.string else {
            throw PayloadError(.data, "“\(member.name)” must be a string, not \(member.value.kind)")
        }
        return text
    }

    private static func path(_ member: JSONValue.Member) throws(PayloadError) -> String {
        let path = try text(member)
        if let objection = ExecProgram.objection(toPath: path) {
            throw PayloadError(.data, "“\(member.name)” \(objection)")
        }
        return path
    }

    private static func arguments(_ value: JSONValue) throws(PayloadError) -> [String] {
        guard let elements = value.elements, elements.count <= maxArguments else {
            throw PayloadError(.data, "“arguments” must be an array of at most \(maxArguments) strings")
        }
        var arguments: [String] = []
        for element in elements {
            guard let argument = element.string else {
                throw PayloadError(.data, "“arguments” must hold strings, not \(element.kind)")
            }
            if let objection = ExecProgram.objection(toArgument: argument) {
                throw PayloadError(.data, "“arguments” \(objection); write it to a file, or give it as “stdin”")
            }
            arguments.append(argument)
        }
        return arguments
    }

    private static func environment(_ value: JSONValue) throws(PayloadError) -> [Variable] {
        guard let members = value.members, members.count <= maxVariables else {
            throw PayloadError(.data, "“environment” must be an object of at most \(maxVariables) strings")
        }
        var variables: [Variable] = []
        for member in members {
            if let objection = ExecEnvironment.objection(toPayloadName: member.name) {
                throw PayloadError(.data, "“environment” \(objection)")
            }
            let text = try text(member)
            guard !text.utf8.contains(0) else {
                throw PayloadError(.data, "“\(member.name)” in “environment” contains a zero byte")
            }
            variables.append(Variable(name: member.name, value: text))
        }
        return variables
    }

    private static func seconds(_ member: JSONValue.Member, max: Double) throws(PayloadError) -> Duration {
        guard let seconds = member.value.seconds, (0...max).contains(seconds) else {
            throw PayloadError(.data, "“\(member.name)” must be seconds from 0 to \(Int(max)), or a time such as 10m")
        }
        return .milliseconds(Int64((seconds * 1000).rounded()))
    }

    private static func limit(_ duration: Duration) -> Duration? { duration == .zero ? nil : duration }
}

extension ExecPayload {
    /// The maximum bytes of all arguments and variables with their pointers: a quarter of the usual stack of
    /// 8 MiB (execve(2)), with room for the name and the tables of the kernel.
    static let maxTotal = 2 * 1024 * 1024 - 16 * 1024

    /// Checks the payload against the settings of its program.
    /// - Throws: ``PayloadError``, which names the key.
    func check(for settings: ExecProgram) throws(PayloadError) {
        try checkArguments(settings)
        if input != .none, !settings.allowsInput {
            throw PayloadError(.data, "the program “\(program)” takes no input; remove “stdin” and “stdinFile”")
        }
        for variable in environment where !settings.environment.contains(variable.name) {
            throw PayloadError(
                .data,
                "the program “\(program)” does not allow “\(variable.name)” in “environment”; its settings list the "
                    + "names that a payload may set")
        }
        let paths = [("directory", directory), ("stdout", output.to), ("stderr", error.to)]
        for case (let key, let path?) in paths {
            guard let base = settings.directory else {
                throw PayloadError(.data, "the program “\(program)” has no directory in its settings; remove “\(key)”")
            }
            guard path.hasSameBytes(as: base) && key == "directory" || path.beginsWithBytes(of: base + "/") else {
                throw PayloadError(.data, "“\(key)” must be in \(base), the directory of the program “\(program)”")
            }
        }
        if output.to != nil, output.to == error.to {
            throw PayloadError(.data, "“stdout” and “stderr” have the same file; give each its own")
        }
        try checkTotal(settings)
    }

    /// Checks that the input file exists, and can be read.
    /// - Throws: ``PayloadError`` of the kind `source`.
    func checkInputFile() throws(PayloadError) {
        guard case .file(let path) = input else { return }
        var facts = stat()
        guard lstat(path, &facts) == 0 else { throw PayloadError(.source, "\(SystemError("examine", path))") }
        guard facts.st_mode & S_IFMT == S_IFREG else {
            throw PayloadError(.source, "\(path), the “stdinFile”, is not a regular file; name one")
        }
        guard access(path, R_OK) == 0 else { throw PayloadError(.source, "\(SystemError("read", path))") }
    }

    private func checkArguments(_ settings: ExecProgram) throws(PayloadError) {
        switch settings.allowedArguments {
        case .any: return
        case .none:
            guard arguments.isEmpty else {
                throw PayloadError(
                    .data, "the program “\(program)” takes no arguments of a payload; remove “arguments”")
            }
        case .matching(let patterns):
            for argument in arguments where !patterns.contains(where: { $0.matches(argument) }) {
                throw PayloadError(
                    .data,
                    "the program “\(program)” does not allow the argument “\(argument.prefix(100))”; allowArguments in "
                        + "its settings lists the patterns")
            }
        }
    }

    private func checkTotal(_ settings: ExecProgram) throws(PayloadError) {
        var total = settings.path.utf8.count * 2
        for argument in settings.arguments + arguments { total += argument.utf8.count + 9 }
        for variable in environment {
            let size = variable.name.utf8.count + variable.value.utf8.count + 2
            guard size <= ExecProgram.maxArgument else {
                throw PayloadError(
                    .data,
                    "“\(variable.name)” in “environment” has \(variable.value.utf8.count) bytes; the system takes "
                        + "at most \(ExecProgram.maxArgument)")
            }
            total += size + 8
        }
        guard total <= Self.maxTotal else {
            throw PayloadError(
                .data,
                "“arguments” and “environment” have \(total) bytes; the system takes \(Self.maxTotal) for a program; "
                    + "write them to a file, or give them as “stdin”")
        }
    }

    /// The whole argv of a run: the path, the arguments of the settings, those of the payload.
    func arguments(for settings: ExecProgram) -> [String] { [settings.path] + settings.arguments + arguments }

    /// The canonical form, with every default.
    var json: JSONValue {
        var members: [JSONValue.Member] = [
            .init("program", .string(program)), .init("arguments", .array(arguments.map { .string($0) })),
        ]
        switch input {
        case .none: break
        case .text(let text): members.append(.init("stdin", .string(text)))
        case .file(let path): members.append(.init("stdinFile", .string(path)))
        }
        members.append(.init("environment", .object(environment.map { .init($0.name, .string($0.value)) })))
        if let directory { members.append(.init("directory", .string(directory))) }
        members.append(.init("timeout", Self.json(timeout ?? .zero)))
        members.append(.init("idleTimeout", Self.json(idleTimeout ?? .zero)))
        members.append(.init("grace", Self.json(grace)))
        members.append(.init("idempotent", .bool(isIdempotent)))
        members.append(.init("stdout", output.json))
        members.append(.init("stderr", error.json))
        members.append(.init("values", .object(values)))
        return .object(members)
    }

    private static func json(_ duration: Duration) -> JSONValue {
        let (seconds, attoseconds) = duration.components
        return attoseconds == 0
            ? .integer(seconds) : .number(Double(seconds) + Double(attoseconds / 1_000_000_000_000_000) / 1000)
    }
}
