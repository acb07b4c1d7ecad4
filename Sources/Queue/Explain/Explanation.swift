public import Commands
internal import Console

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

/// A reason why a command does not run, or the status that makes the question pointless.
package struct WaitReason: Equatable {
    /// A word that scripts can rely on: `coordinator`, `worker`, `type`, `pause`, `notBefore`, `backoff`,
    /// `link`, `linkWait`, `circuitBreaker`, `shard`, `suspect`, `cancel`, `dependencies`, `order`, `flow`, `doubt`,
    /// `places`, `earlierRun`, `endpoint`, `running`, `ended`, and the rules of admission: `maxConcurrency`, `pushback`, `slowStart`,
    /// `linkLimit`, `uplinkLimit`, `probes`, `untried`, `fairShare`, `slots`, `maxTransfers`, `rate`.
    package var name: String
    /// The value now.
    package var measured: String
    /// The value at which the wait ends; nil where there is no such value.
    package var threshold: String?
    /// The event that ends the wait.
    package var remedy: String
    /// The same for programs: an object, empty where `name` says all.
    package var values: JSONValue
    /// The command may start, and is only slowed down.
    var isThrottle = false

    init(_ name: String, _ measured: String, threshold: String? = nil, remedy: String, values: JSONValue = .object([]))
    {
        self.name = name
        self.measured = measured
        self.threshold = threshold
        self.remedy = remedy
        self.values = values
    }

    package var sentence: String {
        let limit = threshold.map { " (needs: \($0))" } ?? ""
        return "\(name): \(measured)\(limit). \(remedy)."
    }

    package var json: JSONValue {
        .object([
            .init("gate", .string(name)), .init("value", .string(measured)),
            .init("threshold", threshold.map { .string($0) } ?? .null), .init("opens", .string(remedy)),
            .init("values", values),
        ])
    }
}

/// The error output that a failed program has left in its result.
package struct ErrorOutput: Sendable, Equatable {
    /// Lines that are shown, the last ones.
    static let maxLines = 20

    /// The kept part: base64 where it is not text.
    package let text: String
    private let isText: Bool
    /// Bytes of the whole output.
    private let count: Int64

    /// - Returns: nil where the result has no error output.
    package init?(result: JSONValue) {
        guard let text = result["stderr"]?.string, !text.isEmpty else { return nil }
        self.text = text
        isText = result["stderrEncoding"] == nil
        count = result["stderrBytes"]?.integer ?? Int64(text.utf8.count)
    }

    /// The last lines, without control characters, behind a line that says what they are.
    package var lines: [String] {
        guard isText else { return ["stderr: \(count) bytes that are not text; “sluice status” has them"] }
        let all = text.split(whereSeparator: \.isNewline)
        let shown = all.suffix(Self.maxLines).map { "  \(TerminalText.plain(String($0)))" }
        let isWhole = shown.count == all.count && Int64(text.utf8.count) >= count
        return [isWhole ? "stderr:" : "stderr, the end of \(count) bytes; “sluice status” has more:"] + shown
    }
}
