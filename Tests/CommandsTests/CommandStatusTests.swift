import Commands
import Testing

struct CommandStatusTests {
    /// Every legal pair, written out; whatever is not here is illegal.
    static let legal: Set<[CommandStatus]> = [
        [.new, .queued], [.new, .cancelled],
        [.queued, .sent], [.queued, .error], [.queued, .new], [.queued, .cancelled],
        [.sent, .success], [.sent, .error], [.sent, .new], [.sent, .inDoubt], [.sent, .cancelled],
        [.error, .queued], [.error, .tooManyTimes], [.error, .new], [.error, .cancelled],
        [.cancelled, .new],
        [.blocked, .new], [.blocked, .cancelled],
        [.inDoubt, .success], [.inDoubt, .new], [.inDoubt, .cancelled],
        [.tooManyTimes, .new],
    ]

    @Test func `allows the transitions of the table and no other`() {
        #expect(CommandStatus.allCases.count == 9)
        for from in CommandStatus.allCases {
            for to in CommandStatus.allCases {
                #expect(from.mayBecome(to) == Self.legal.contains([from, to]), "\(from) → \(to)")
            }
        }
    }

    @Test func `keeps the raw values that other people's queries use`() {
        let raw: [CommandStatus: Int] = [
            .new: 0, .queued: 1, .sent: 2, .error: 3, .success: 4, .cancelled: 5, .blocked: 6, .inDoubt: 7,
            .tooManyTimes: 10,
        ]
        for status in CommandStatus.allCases { #expect(status.rawValue == raw[status], "\(status)") }
    }

    @Test func `is named by its word and found by it`() {
        let words = ["new", "queued", "sent", "error", "success", "cancelled", "blocked", "inDoubt", "tooManyTimes"]
        #expect(CommandStatus.allCases.map(\.name) == words)
        for status in CommandStatus.allCases { #expect(CommandStatus(name: status.name) == status) }
        for word in ["", "New", "done", "indoubt", "new "] { #expect(CommandStatus(name: word) == nil) }
    }

    @Test func `ends in four statuses and is claimed in two`() {
        #expect(CommandStatus.allCases.filter(\.isFinal) == [.success, .cancelled, .inDoubt, .tooManyTimes])
        #expect(CommandStatus.allCases.filter(\.isClaimed) == [.queued, .sent])
    }
}
