internal import Commands

/// The environment of a program. It begins empty: a program sees nothing of the worker's. Pure.
///
/// PATH, LANG, HOME, TMPDIR, SLUICE_COMMAND, SLUICE_CLAIM, SLUICE_ATTEMPT and SLUICE_REPORT_FD, then the
/// settings of the program, then the values of the payload, whose names the program must allow.
struct ExecEnvironment: Sendable, Equatable {
    struct Variable: Sendable, Equatable {
        var name: String
        var value: String
    }

    static let path = "/usr/local/bin:/usr/bin:/bin"
    static let language = "C.UTF-8"
    static let maxName = 128

    private(set) var variables: [Variable]

    /// - Parameters:
    ///   - home: of the program's user.
    ///   - temporary: a directory of this run, which is removed after it.
    ///   - attempt: how often the command has been tried, from 1.
    init(home: String, temporary: String, command: CommandID, claim: Int, attempt: Int) {
        variables = [
            Variable(name: "PATH", value: Self.path), Variable(name: "LANG", value: Self.language),
            Variable(name: "HOME", value: home), Variable(name: "TMPDIR", value: temporary),
            Variable(name: "SLUICE_COMMAND", value: "\(command)"), Variable(name: "SLUICE_CLAIM", value: "\(claim)"),
            Variable(name: "SLUICE_ATTEMPT", value: "\(attempt)"), Variable(name: "SLUICE_REPORT_FD", value: "3"),
        ]
    }

    /// Sets a variable, or replaces it.
    mutating func set(_ name: String, _ value: String) {
        if let index = variables.firstIndex(where: { $0.name.hasSameBytes(as: name) }) {
            variables[index].value = value
        } else {
            variables.append(Variable(name: name, value: value))
        }
    }

    /// `NAME=value`, as execve(2) takes it.
    var lines: [String] { variables.map { "\($0.name)=\($0.value)" } }

    // MARK: Names

    /// - Returns: what is wrong, as it follows the key; nil for a name that the settings may have.
    static func objection(toName name: String) -> String? {
        let isWord = name.utf8.enumerated().allSatisfy { index, byte in
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "_"): true
            case UInt8(ascii: "0")...UInt8(ascii: "9"): index > 0
            default: false
            }
        }
        guard isWord, (1...maxName).contains(name.utf8.count) else {
            return "takes names of letters, digits and _, at most \(maxName), not “\(name.prefix(40))”"
        }
        guard !name.hasPrefix("SLUICE_") else {
            return "has “\(name)”; names that begin with SLUICE_ are set by the worker"
        }
        return nil
    }

    /// Prefixes of variables by which a linker, a shell or an interpreter loads or runs other code.
    private static let forbiddenPrefixes = [
        "LD_", "PYTHON", "PERL5", "GIT_", "RUBY", "BASH_FUNC_", "JAVA_TOOL", "_JAVA",
    ]
    private static let forbiddenNames: Set<String> = [
        "GLIBC_TUNABLES", "BASH_ENV", "ENV", "IFS", "PATH", "NODE_OPTIONS", "NODE_PATH", "SHELLOPTS", "BASHOPTS", "PS4",
        "PROMPT_COMMAND", "GCONV_PATH", "LOCPATH", "NLSPATH", "HOSTALIASES", "RESOLV_HOST_CONF", "RES_OPTIONS",
        "MALLOC_TRACE", "PERLLIB", "PERL_MM_OPT", "JDK_JAVA_OPTIONS", "CLASSPATH", "HOME", "TMPDIR", "EDITOR", "VISUAL",
        "PAGER", "SHELL",
    ]

    /// - Returns: what is wrong, as it follows the key; nil for a name that a payload may have.
    static func objection(toPayloadName name: String) -> String? {
        if let objection = objection(toName: name) { return objection }
        guard !forbiddenNames.contains(name), !forbiddenPrefixes.contains(where: name.hasPrefix) else {
            return "has “\(name)”, by which a payload could run other code; set it in sluice.yaml"
        }
        return nil
    }
}
