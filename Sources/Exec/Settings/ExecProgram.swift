internal import Commands
internal import Settings

/// The settings `program.<name>` of `sluice.yaml`. Pure; ``CheckedProgram`` examines the file.
///
/// | key | default | meaning |
/// |---|---|---|
/// | `path` | required | absolute; a regular file that only its owner may write |
/// | `arguments` | none | the first arguments of every run |
/// | `allowArguments` | false | true, or a list of patterns (``ArgumentPattern``) for those of a payload |
/// | `environment` | none | names that a payload may set |
/// | `set` | none | variables and their values, or files with the values |
/// | `directory` | a temporary one | the working directory; that of a payload must be in it |
/// | `stdin` | false | whether a payload may have `stdin` or `stdinFile` |
/// | `user` | the worker's | needs ``ProgramUser/capabilities`` |
/// | `limits` | core 0, files 1024 | ``ExecLimits`` |
/// | `exitCodes` | sysexits.h | ``ExecExitCodes`` |
/// | `kill` | children | or leave: daemons that left the session of the program survive it |
/// | `concurrency` | none | the maximum number of runs at once in a worker |
struct ExecProgram: Sendable, Equatable {
    enum Arguments: Sendable, Equatable {
        case none
        case any
        case matching([ArgumentPattern])
    }

    enum Value: Sendable, Equatable {
        case text(String)
        /// The text of this file without the line feed at its end, read at each start.
        case file(String)
    }

    struct Setting: Sendable, Equatable {
        var name: String
        var value: Value
    }

    var name: String
    var path: String
    var arguments: [String] = []
    var allowedArguments = Arguments.none
    var environment: [String] = []
    var set: [Setting] = []
    var directory: String?
    var allowsInput = false
    var user: String?
    var limits = ExecLimits()
    var exitCodes = ExecExitCodes()
    var leavesDaemons = false
    var concurrency: Int?

    init(name: String, path: String) {
        self.name = name
        self.path = path
    }

    static let maxPatterns = 64
    static let maxConcurrency = 1024

    /// Checks the values without the file system.
    /// - Throws: ``SettingsError`` naming the key.
    func check() throws(SettingsError) {
        let isName = name.utf8.allSatisfy { byte in
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
                || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
        }
        guard isName, (1...64).contains(name.utf8.count) else {
            throw SettingsError(
                key: "program", problem: "takes names of a-z, 0-9, - and _, at most 64, not “\(name)”")
        }
        if let objection = Self.objection(toPath: path) { throw error("path", objection) }
        if let directory, let objection = Self.objection(toPath: directory) { throw error("directory", objection) }
        for argument in arguments {
            if let objection = Self.objection(toArgument: argument) { throw error("arguments", objection) }
        }
        try checkPatterns()
        try checkEnvironment()
        try checkExitCodes()
        try checkNumbers()
    }

    private func error(_ key: String, _ problem: String) -> SettingsError {
        SettingsError(key: "program.\(name).\(key)", problem: problem)
    }

    private func checkPatterns() throws(SettingsError) {
        guard case .matching(let patterns) = allowedArguments else { return }
        guard patterns.count <= Self.maxPatterns else {
            throw error("allowArguments", "takes at most \(Self.maxPatterns) patterns, not \(patterns.count)")
        }
        for pattern in patterns {
            guard (1...ArgumentPattern.maxLength).contains(pattern.text.utf8.count), !pattern.text.utf8.contains(0)
            else {
                throw error(
                    "allowArguments",
                    "takes patterns of 1 to \(ArgumentPattern.maxLength) bytes, not “\(pattern.text.prefix(40))”")
            }
        }
    }

    private func checkEnvironment() throws(SettingsError) {
        for name in environment {
            if let objection = ExecEnvironment.objection(toPayloadName: name) { throw error("environment", objection) }
        }
        var names: Set<String> = []
        for setting in set {
            if let objection = ExecEnvironment.objection(toName: setting.name) { throw error("set", objection) }
            guard names.insert(setting.name).inserted else { throw error("set", "has “\(setting.name)” twice") }
            guard !environment.contains(setting.name) else {
                throw error("set", "has “\(setting.name)”, which environment lets a payload set; remove one of them")
            }
            switch setting.value {
            case .text(let text) where text.utf8.contains(0):
                throw error("set", "has a value with a zero byte for “\(setting.name)”")
            case .text: break
            case .file(let path):
                if let objection = Self.objection(toPath: path) { throw error("set.\(setting.name)", objection) }
            }
        }
    }

    private func checkExitCodes() throws(SettingsError) {
        let lists = [
            ("success", exitCodes.success), ("retry", exitCodes.retry), ("permanent", exitCodes.permanent),
        ]
        var seen: [Int32: String] = [0: "success"]
        for (list, codes) in lists {
            for code in codes.sorted() where !(list == "success" && code == 0) {
                guard (1...255).contains(code) else {
                    throw error("exitCodes.\(list)", "takes codes from 1 to 255, not \(code)")
                }
                if let other = seen.updateValue(list, forKey: code) {
                    throw error("exitCodes.\(list)", "has \(code), which is in the list \(other) too")
                }
            }
        }
        guard !exitCodes.retry.contains(0), !exitCodes.permanent.contains(0) else {
            throw error("exitCodes", "has 0 as a failure; 0 is always success")
        }
    }

    private func checkNumbers() throws(SettingsError) {
        if let user, user.isEmpty || user.utf8.contains(0) || user.utf8.count > 256 {
            throw error("user", "takes the name of a user, not “\(user)”")
        }
        if let concurrency, !(1...Self.maxConcurrency).contains(concurrency) {
            throw error("concurrency", "takes 1 to \(Self.maxConcurrency), not \(concurrency)")
        }
        let values: [(String, Int64?)] = [
            ("cpu", limits.processorSeconds.map(Int64.init)), ("fileSize", limits.fileSize),
            ("memory", limits.addressSpace), ("processes", limits.processes.map(Int64.init)),
        ]
        for (key, value) in values {
            if let value, value < 1 { throw error("limits.\(key)", "takes a number from 1, not \(value)") }
        }
        guard (16...1 << 20).contains(limits.openFiles) else {
            throw error("limits.openFiles", "takes 16 to 1048576, not \(limits.openFiles)")
        }
    }

    /// - Returns: what is wrong, as it follows the key; nil where the path is absolute and has no detours.
    static func objection(toPath path: String) -> String? {
        let names = path.utf8.dropFirst().split(separator: .slash, omittingEmptySubsequences: false)
        guard path.utf8.first == .slash, path.utf8.count > 1, path.utf8.count < 4096, !path.utf8.contains(0),
            names.allSatisfy({ !$0.isEmpty && !$0.elementsEqual(".".utf8) && !$0.elementsEqual("..".utf8) })
        else { return "takes an absolute path without “.”, “..” and “//”, not “\(path.prefix(200))”" }
        return nil
    }

    /// The maximum bytes of one argument: 32 pages, with the zero byte (MAX_ARG_STRLEN, execve(2)).
    static let maxArgument = 131_071

    static func objection(toArgument argument: String) -> String? {
        if argument.utf8.contains(0) { return "has an argument with a zero byte" }
        guard argument.utf8.count <= maxArgument else {
            return "has an argument of \(argument.utf8.count) bytes; the system takes at most \(maxArgument)"
        }
        return nil
    }
}

/// The resource limits of a program in `sluice.yaml`; nil: the worker's own.
struct ExecLimits: Sendable, Equatable {
    /// Seconds of processor time. Then SIGXCPU, and after 5 more seconds SIGKILL.
    var processorSeconds: Int?
    /// Bytes of each file that the program writes. Then SIGXFSZ.
    var fileSize: Int64?
    /// Bytes of address space of each process. The program sees an error of its own.
    var addressSpace: Int64?
    /// Processes and threads of the user, so it needs a user of its own.
    var processes: Int?
    /// The soft limit; select(2) works up to 1024, and workers raise their own.
    var openFiles = 1024

    var resourceLimits: [ResourceLimit] {
        var limits = [ResourceLimit(.coreFile, soft: 0), ResourceLimit(.openFiles, soft: UInt64(clamping: openFiles))]
        if let processorSeconds {
            let seconds = UInt64(clamping: processorSeconds)
            limits.append(ResourceLimit(.processorTime, soft: seconds, hard: seconds + 5))
        }
        func add(_ resource: ResourceLimit.Resource, _ value: Int64?) {
            guard let value else { return }
            limits.append(ResourceLimit(resource, soft: UInt64(clamping: value), hard: UInt64(clamping: value)))
        }
        add(.fileSize, fileSize)
        add(.addressSpace, addressSpace)
        add(.processes, processes.map(Int64.init))
        return limits
    }
}

/// A pattern for arguments of a payload: `*` stands for any text, `?` for one character, all else for itself.
/// Pure.
///
/// Two rules keep an argument from meaning more than the pattern shows. An argument that begins with `-`, an
/// option, needs a pattern that begins with `-`. An argument with a component `..`, which would leave
/// `/in/*`, matches no pattern.
struct ArgumentPattern: Sendable, Equatable {
    static let maxLength = 256
    /// Longer arguments match no pattern.
    static let maxArgument = 4096

    let text: String

    func matches(_ argument: String) -> Bool {
        let bytes = Array(argument.utf8)
        guard bytes.count <= Self.maxArgument, !bytes.contains(0) else { return false }
        if bytes.first == UInt8(ascii: "-"), text.utf8.first != UInt8(ascii: "-") { return false }
        let parent = [UInt8(ascii: "."), UInt8(ascii: ".")]
        guard !bytes.split(separator: UInt8(ascii: "/")).contains(where: { $0.elementsEqual(parent) }) else {
            return false
        }
        return Self.matches(Array(text.unicodeScalars), Array(argument.unicodeScalars))
    }

    /// Matches greedily: after a mismatch the last `*` takes one character more.
    private static func matches(_ pattern: [Unicode.Scalar], _ text: [Unicode.Scalar]) -> Bool {
        var (inPattern, inText) = (0, 0)
        var star: (pattern: Int, text: Int)?
        while inText < text.count {
            if inPattern < pattern.count, pattern[inPattern] == "*" {
                star = (inPattern, inText)
                inPattern += 1
            } else if inPattern < pattern.count, pattern[inPattern] == "?" || pattern[inPattern] == text[inText] {
                inPattern += 1
                inText += 1
            } else if let last = star {
                star = (last.pattern, last.text + 1)
                inPattern = last.pattern + 1
                inText = last.text + 1
            } else {
                return false
            }
        }
        return pattern[inPattern...].allSatisfy { $0 == "*" }
    }
}
