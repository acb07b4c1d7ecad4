internal import Commands
internal import Host
internal import Settings
internal import Transfers

extension ExecProgram {
    /// Reads the section `program.<name>`.
    /// - Throws: ``SettingsError`` naming the key. It never quotes a value of `set`.
    init(_ name: String, reading reader: inout SettingsReader) throws(SettingsError) {
        let section = ["program", name]
        guard let path = try reader.text(section + ["path"]) else {
            throw SettingsError(
                key: "program.\(name).path", problem: "is missing; it takes the absolute path of the program")
        }
        self.init(name: name, path: path)
        arguments = try reader.list(section + ["arguments"])
        allowedArguments = try Self.allowedArguments(section + ["allowArguments"], &reader)
        environment = try reader.list(section + ["environment"])
        for text in try reader.list(section + ["set"]) {
            let (name, value) = try Self.setting(text, section + ["set"], form: "NAME=value")
            set.append(Setting(name: name, value: .text(value)))
        }
        for text in try reader.list(section + ["setFiles"]) {
            let (name, value) = try Self.setting(text, section + ["setFiles"], form: "NAME=/path/of/file")
            set.append(Setting(name: name, value: .file(value)))
        }
        directory = try reader.text(section + ["directory"])
        try reader.read(&allowsInput, section + ["stdin"])
        user = try reader.text(section + ["user"])
        limits = try ExecLimits(section + ["limits"], &reader)
        exitCodes.success = try Self.codes(section + ["exitCodes", "success"], &reader)
        exitCodes.retry = try Self.codes(section + ["exitCodes", "retry"], &reader)
        exitCodes.permanent = try Self.codes(section + ["exitCodes", "permanent"], &reader)
        leavesDaemons =
            try reader.value(section + ["kill"], takes: "children or leave") { text in
                ["children": false, "leave": true][text]
            } ?? false
        concurrency = try reader.value(section + ["concurrency"], takes: "a whole number") { Int($0) }
        try check()
    }

    private static func allowedArguments(
        _ path: [String], _ reader: inout SettingsReader
    ) throws(SettingsError) -> Arguments {
        switch try reader.textOrList(path) {
        case nil: return .none
        case .list(let patterns): return .matching(patterns.map { ArgumentPattern(text: $0) })
        case .text(let text):
            guard let isAllowed = ["true": true, "yes": true, "false": false, "no": false][text.lowercased()] else {
                throw SettingsError(
                    key: path.joined(separator: "."),
                    problem: "takes true, false, or a list of patterns such as [\"/in/*\"], not “\(text)”")
            }
            return isAllowed ? .any : .none
        }
    }

    private static func setting(
        _ text: String, _ path: [String], form: String
    ) throws(SettingsError) -> (name: String, value: String) {
        guard let mark = text.utf8.firstIndex(of: UInt8(ascii: "=")), mark > text.startIndex else {
            // Not quoted: it may be a secret.
            throw SettingsError(key: path.joined(separator: "."), problem: "takes a list of entries \(form)")
        }
        return (String(text[..<mark]), String(Substring(text.utf8[mark...].dropFirst())))
    }

    private static func codes(_ path: [String], _ reader: inout SettingsReader) throws(SettingsError) -> Set<Int32> {
        var codes: Set<Int32> = []
        for text in try reader.list(path) {
            guard let code = Int32(text) else {
                throw SettingsError(
                    key: path.joined(separator: "."),
                    problem: "takes a list of exit codes such as [3, 4], not “\(text)”")
            }
            codes.insert(code)
        }
        return codes
    }
}

extension ExecLimits {
    fileprivate init(_ section: [String], _ reader: inout SettingsReader) throws(SettingsError) {
        processorSeconds = try reader.value(section + ["cpu"], takes: "a time such as 90s") { text in
            Int(text) ?? Duration.parse(text).map { Int($0.components.seconds) }
        }
        fileSize = try reader.value(section + ["fileSize"], takes: "a size such as 2GiB") { ByteCount.bytes($0) }
        addressSpace = try reader.value(section + ["memory"], takes: "a size such as 2GiB") { ByteCount.bytes($0) }
        processes = try reader.value(section + ["processes"], takes: "a whole number") { Int($0) }
        try reader.read(&openFiles, section + ["openFiles"])
    }
}

extension ExecProgram {
    /// The maximum bytes of a value that is read from a file.
    static let maxValue = 65_536

    /// The names and values of ``set``; those of files are read anew. Blocks.
    /// - Throws: a charged ``CommandFailure``, because a file may be missing while it is replaced. It never
    ///   quotes a value.
    func settings() throws(CommandFailure) -> [(name: String, value: String)] {
        var settings: [(name: String, value: String)] = []
        for setting in set {
            switch setting.value {
            case .text(let text): settings.append((setting.name, text))
            case .file(let path):
                guard var text = TextFile.read(path) else {
                    throw CommandFailure(
                        .command, reason: "the value of \(setting.name) cannot be read from \(path), or is empty")
                }
                if text.utf8.last == 0x0A { text.unicodeScalars.removeLast() }
                guard text.utf8.count <= Self.maxValue, !text.utf8.contains(0) else {
                    throw CommandFailure(
                        .final,
                        reason:
                            "the value of \(setting.name) in \(path) has a zero byte, or more than \(Self.maxValue) "
                            + "bytes")
                }
                settings.append((setting.name, text))
            }
        }
        return settings
    }
}

extension ExecProgram {
    /// The user of the settings, looked up in the system's databases; nil: the worker's. Blocks.
    func lookUpUser() throws(CommandFailure) -> ProgramUser? {
        guard let user else { return nil }
        do throws(SystemError) {
            if let found = try ProgramUser.named(user) { return found }
        } catch {
            throw CommandFailure(.command, reason: "the user of the program “\(name)” is not known: \(error)")
        }
        throw CommandFailure(
            .final,
            reason: "the program “\(name)” cannot run as “\(user)”: there is no such user; create it, or correct "
                + "“user” in its settings")
    }
}
