package import Commands

/// Executions that were answered 503. It goes before the `statuses` of their ends, and is not a part of these, because
/// release 0.1.0 drops a frame that is longer than it knows.
package struct Unavailable: Sendable, Equatable {
    /// An answer 503.
    package struct Answer: Sendable, Equatable {
        package var execution: CommandClaim
        /// The URL that was asked for; nil where the payload names none.
        package var target: CommandTarget?

        package init(_ execution: CommandClaim, target: CommandTarget?) {
            self.execution = execution
            self.target = target
        }
    }

    package var answers: [Answer]

    package init(_ answers: [Answer]) { self.answers = answers }

    func write(to writer: inout ByteWriter) {
        writer.uint16(min(answers.count, 0xFFFF))
        for answer in answers.prefix(0xFFFF) {
            writer.append(answer.execution.id)
            writer.uint32(answer.execution.claim)
            writer.append(answer.target == nil ? 0 : 1 as UInt8)
            writer.append(answer.target?.hash ?? 0)
        }
    }

    init(from reader: inout ByteReader) throws(WireError) {
        answers = []
        for _ in 0..<(try reader.uint16("answers")) {
            let execution = CommandClaim(id: try reader.id("answer"), claim: try reader.uint32("answer claim"))
            let hasTarget = try reader.uint8("has target") != 0
            let target = CommandTarget(hash: try reader.integer("target"))
            answers.append(Answer(execution, target: hasTarget ? target : nil))
        }
    }
}
