public import Commands

/// The output of `sluice explain`: why a command waits, its proxy, and its unique key.
public struct Explanation: Sendable {
    private let command: Command
    private let reasons: [WaitReason]
    private let proxy: String?
    private let errorOutput: ErrorOutput?
    private let now: Timestamp

    /// - Parameters:
    ///   - reasons: of ``WaitExplainer``.
    ///   - proxy: the proxy that a worker with this configuration would use; nil for none.
    ///   - errorOutput: of a program that has failed; nil for none.
    package init(
        of command: Command, reasons: [WaitReason], proxy: String?, errorOutput: ErrorOutput? = nil, now: Timestamp
    ) {
        self.errorOutput = errorOutput
        self.command = command
        self.reasons = reasons
        self.proxy = proxy
        self.now = now
    }

    /// A sentence a line.
    public var sentences: [String] {
        var sentences = reasons.map(\.sentence)
        if let proxy {
            sentences.append(
                "proxy: requests to \(command.destination) go through \(proxy), as the configuration and this "
                    + "environment say.")
        }
        if let key = command.uniqueKey {
            sentences.append(
                "unique key: “\(key)” is \(command.uniqueKeyHold(at: now)) (--unique-for \(command.uniqueFor)).")
        }
        return sentences + (errorOutput?.lines ?? [])
    }

    /// The same as an object: `id`, `status`, `gates` with an object for each reason, and what else is known.
    public var json: JSONValue {
        let unique: [JSONValue.Member] =
            command.uniqueKey.map { key in
                [
                    .init("uniqueKey", .string(key)), .init("uniqueFor", .string(command.uniqueFor.description)),
                    .init("holdsUniqueKey", .bool(command.holdsUniqueKey(at: now))),
                ]
            } ?? []
        return .object(
            [
                .init("id", .string(command.id.description)), .init("status", .string(command.status.name)),
                .init("gates", .array(reasons.map(\.json))), .init("proxy", proxy.map { .string($0) } ?? .null),
            ] + unique + (errorOutput.map { [.init("stderr", .string($0.text))] } ?? []))
    }
}

extension Command {
    /// How long the command holds its unique key, in words that follow “is”.
    package func uniqueKeyHold(at now: Timestamp) -> String {
        holdsUniqueKey(at: now) ? "held \(uniqueFor.end(since: createdAt))" : "no longer held"
    }
}
