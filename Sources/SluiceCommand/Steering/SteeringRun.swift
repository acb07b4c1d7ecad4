internal import Commands
internal import Sluice
internal import Store
internal import Wire

/// Changes the commands that a person named, one by one. Prints a line for each, and tells the coordinator at
/// the end, also after an error and at Ctrl-C.
struct SteeringRun {
    enum Outcome {
        /// Done, in words that follow the id; `hint` is what the coordinator has to know. `effects` are on other commands
        /// too.
        case done(String, hint: Hint.Kind?, effects: Effects = Effects())
        case refused(String)
    }

    let data: DataOptions
    let print: PrintOptions

    /// - Parameter body: changes one command and says what became of it.
    /// - Throws: ``ExitError``: `input` where a command does not exist, `usage` where a part of an id names
    ///   several, `failed` where a change was refused. The lines have been printed then.
    func change(_ parts: [CommandIDPart], _ body: (Command, SQLiteStore) throws -> Outcome) throws {
        let hints = PendingHints(in: data.directory())
        SignalHandling.exits { hints.send() }
        defer { hints.send() }
        let (_, store) = try data.store()
        var worst: ExitCode?
        for part in parts {
            let id: CommandID
            do throws(StoreError) {
                id = try store.id(of: part)
            } catch {
                guard error.code == .notFound || error.code == .ambiguous else { throw error }
                worst = error.code == .notFound ? .input : worst ?? .usage
                line(part, error.message, isDone: false)
                continue
            }
            guard let command = try store.command(id) else {
                worst = .input
                line(part, "there is no such command in \(data.path)", isDone: false)
                continue
            }
            switch try body(command, store) {
            case .done(let text, let hint, let effects):
                if let hint { hints.add(hint, id) }
                hints.add(effects, of: id)
                line(id, text, isDone: true)
            case .refused(let reason):
                worst = worst ?? .failed
                line(id, reason, isDone: false)
            }
        }
        if let worst { throw ExitError(worst, nil) }
    }

    private func line(_ id: some CustomStringConvertible, _ text: String, isDone: Bool) {
        if print.json {
            Output.line(
                JSONValue.object([
                    .init("id", .string(id.description)), .init("done", .bool(isDone)), .init("message", .string(text)),
                ]).bytes)
        } else if isDone {
            Output.line("\(id) \(text)")
        } else {
            Output.flush()
            Diagnostics.say("\(id) \(text)")
        }
    }
}
