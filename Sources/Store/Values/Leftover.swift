package import Commands

/// A command that ended although its checkpoint names something that no execution will use any more: a
/// multipart upload, or the part file of a download.
///
/// The transaction that ends a command records its leftover, where the command has a checkpoint.
/// ``CommandStore/cleanUp(shard:limit:_:)`` replaces the record by a command that removes the remains.
package struct Leftover: Sendable, Equatable {
    /// The time for which the checkpoint of a dead letter is kept: a person may find the cause and retry the
    /// command, which then goes on where it was.
    package static let deadLetterDelay: Duration = .seconds(86_400)

    /// As it ended.
    package var command: Command
    package var payload: [UInt8]
    package var checkpoint: [UInt8]

    package init(command: Command, payload: [UInt8], checkpoint: [UInt8]) {
        self.command = command
        self.payload = payload
        self.checkpoint = checkpoint
    }

    /// Whether no execution can use the checkpoint. A command in doubt is still to be settled by a person.
    var isOfEnded: Bool { command.status.isFinal && command.status != .inDoubt }

    /// When the remains of a command that has just ended may be removed.
    static func due(_ command: Command) -> Timestamp {
        command.status == .tooManyTimes ? command.updatedAt + deadLetterDelay : command.updatedAt
    }
}
