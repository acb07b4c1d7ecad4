internal import Commands
internal import Glibc
internal import Host
internal import Operations

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
