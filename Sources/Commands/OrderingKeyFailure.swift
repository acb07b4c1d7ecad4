/// The ordering key of a command that is given up (`tooManyTimes`).
public enum OrderingKeyFailure: String, Sendable, Hashable, CaseIterable {
    /// The next command of the key runs.
    case pass
    /// The command holds its key until a person retries or cancels it.
    case hold

    /// The words that a person writes, for messages.
    package static let forms = "“pass” or “hold”"
}
