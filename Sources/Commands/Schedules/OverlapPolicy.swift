/// The treatment of a due time while the command of the last one has not ended.
///
/// A command in doubt has ended. A command that waits for its backoff has not. Several times that are due in one
/// decision follow each other: the command of the first has not ended when the second is decided.
package enum OverlapPolicy: String, Hashable, Sendable, CaseIterable {
    /// The due time does not fire.
    case skip
    /// The new command waits until the last one has ended. At most one waits; further times do not fire.
    case queue
    /// The last command is cancelled, and the new one starts when it has ended.
    case cancel
    /// The new command starts beside the last one.
    case allow

    /// Whether the commands of the schedule follow each other in a lane of their own.
    package var usesLane: Bool { self == .queue || self == .cancel }

    /// Reads the name of a case; nil for anything else.
    package init?(text: String) { self.init(rawValue: text) }

    /// The forms that ``init(text:)`` reads, for messages.
    package static let forms = "“skip”, “queue”, “cancel” or “allow”"
}

extension OverlapPolicy: CustomStringConvertible {
    /// The form that ``init(text:)`` reads.
    package var description: String { rawValue }
}
