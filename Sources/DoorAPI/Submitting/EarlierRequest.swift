internal import Commands
internal import Door

/// The commands that earlier requests with one `Idempotency-Key` have made. Pure.
struct EarlierRequest: Sendable {
    /// By line: the unique key, and its command.
    private var lines: [Int: (key: String, id: CommandID)] = [:]

    /// - Parameters:
    ///   - commands: by their unique keys.
    ///   - prefix: of these keys.
    init(_ commands: [String: CommandID], prefix: String) {
        for (key, id) in commands {
            guard let line = Int(key.dropFirst(prefix.count).prefix { $0 != "#" }) else { continue }
            lines[line] = (key, id)
        }
    }

    /// The command that a repeated line has made; nil where it is to be made.
    /// - Parameters:
    ///   - key: the unique key of the line.
    ///   - line: 0 for a request that is not a bulk.
    /// - Throws: 422 where the key belongs to a line with another text, or to a request of another kind.
    func command(_ key: String, line: Int) throws(Problem) -> CommandID? {
        if let found = lines[line] {
            guard found.key == key else { throw IdempotencyScope.conflict }
            return found.id
        }
        guard lines.isEmpty || line > 0 && lines[0] == nil else { throw IdempotencyScope.conflict }
        return nil
    }
}
