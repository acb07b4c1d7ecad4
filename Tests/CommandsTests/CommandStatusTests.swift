import Commands
import Testing

struct CommandStatusTests {
    /// Every legal pair; all others are illegal.
    static let legal: Set<[CommandStatus]> = [
        [.new, .queued], [.new, .cancelled],
        [.queued, .sent], [.queued, .error], [.queued, .new], [.queued, .cancelled],
        [.sent, .success], [.sent, .error], [.sent, .new], [.sent, .inDoubt], [.sent, .cancelled],
        [.error, .queued], [.error, .tooManyTimes], [.error, .new], [.error, .cancelled],
        [.cancelled, .new], [.cancelled, .blocked],
        [.blocked, .new], [.blocked, .cancelled], [.blocked, .success], [.blocked, .tooManyTimes],
        [.inDoubt, .success], [.inDoubt, .new], [.inDoubt, .cancelled],
        [.tooManyTimes, .new], [.tooManyTimes, .blocked], [.tooManyTimes, .cancelled],
    ]

    @Test func `the transitions of the table are legal, and no others`() {
        #expect(CommandStatus.allCases.count == 9)
        for from in CommandStatus.allCases {
            for to in CommandStatus.allCases {
                #expect(from.mayBecome(to) == Self.legal.contains([from, to]), "\(from) → \(to)")
            }
        }
    }

    @Test func `statuses keep the raw values that queries use`() {
        let raw: [CommandStatus: Int] = [
            .new: 0, .queued: 1, .sent: 2, .error: 3, .success: 4, .cancelled: 5, .blocked: 6, .inDoubt: 7,
            .tooManyTimes: 10,
        ]
        for status in CommandStatus.allCases { #expect(status.rawValue == raw[status], "\(status)") }
    }

    @Test func `a status is found by its name`() {
        let words = ["new", "queued", "sent", "error", "success", "cancelled", "blocked", "inDoubt", "tooManyTimes"]
        #expect(CommandStatus.allCases.map(\.name) == words)
        for status in CommandStatus.allCases { #expect(CommandStatus(name: status.name) == status) }
        for word in ["", "New", "done", "indoubt", "new "] { #expect(CommandStatus(name: word) == nil) }
    }

    /// The words of an option that are not a status name the one that is meant. Other kinds of such values: types, qualities
    /// of service, and the words of verbs.
    @Test func `an option takes the name and the word of a status, and suggests one for the words of other queues`() {
        for status in CommandStatus.allCases {
            for text in [status.name, status.word, status.name.lowercased(), status.word.uppercased()] {
                #expect(CommandStatus(option: text) == status, "\(text)")
            }
        }
        for text in ["gaveUp", "gave-up", "in_doubt"] { #expect(CommandStatus(option: text) != nil, "\(text)") }
        for text in ["", "failed", "running", "nothing"] { #expect(CommandStatus(option: text) == nil, "\(text)") }
        #expect(CommandStatus.suggestion(for: "failed")?.contains("gaveUp") == true)
        #expect(CommandStatus.suggestion(for: "succes") == "success")
        #expect(CommandStatus.suggestion(for: "weather") == nil)
    }

    @Test func `four statuses are final and two are claimed`() {
        #expect(CommandStatus.allCases.filter(\.isFinal) == [.success, .cancelled, .inDoubt, .tooManyTimes])
        #expect(CommandStatus.allCases.filter(\.isClaimed) == [.queued, .sent])
    }
}
