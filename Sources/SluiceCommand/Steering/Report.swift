internal import Commands

/// What became of each command that a person named. A line for each; the exit code tells the worst.
struct Report {
    let asJSON: Bool
    /// The data directory, for the sentence.
    let path: String
    private var unknownCount = 0
    private var refusedCount = 0

    init(asJSON: Bool, path: String) {
        self.asJSON = asJSON
        self.path = path
    }

    mutating func done(_ id: CommandID, _ what: String) { line(id, what, isDone: true) }

    mutating func refused(_ id: CommandID, _ why: String) {
        refusedCount += 1
        line(id, why, isDone: false)
    }

    mutating func unknown(_ id: CommandID) {
        unknownCount += 1
        line(id, "there is no such command in \(path)", isDone: false)
    }

    /// - Throws: a ``ExitError`` where not all was done; the sentences have been printed.
    func finish() throws {
        if unknownCount > 0 { throw ExitError(.input, nil) }
        if refusedCount > 0 { throw ExitError(.failed, nil) }
    }

    private func line(_ id: CommandID, _ what: String, isDone: Bool) {
        if asJSON {
            Output.line(
                JSONValue.object([
                    .init("id", .string(id.description)), .init("done", .bool(isDone)), .init("message", .string(what)),
                ]).bytes)
        } else if isDone {
            Output.line("\(id) \(what)")
        } else {
            Output.flush()
            Diagnostics.say("\(id) \(what)")
        }
    }
}
