internal import Commands
internal import Host

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
