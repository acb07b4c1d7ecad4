package import Commands
internal import FlowText
internal import HTTPTypes
package import Operations
package import Queue
internal import Uploads

extension Problem {
    /// The problem that an error is to a client. The messages of the store name files of the server, so only those about a
    /// command or a value are shown.
    package init(_ error: SluiceError) {
        switch error.code {
        case .tryAgain: self = .storeUnavailable
        case .noSuchCommand: self = error.id.map { .noCommand($0) } ?? .noSuchCommand
        default:
            let answer = error.code.answer
            guard let problem = answer.problem else {
                self = .failed
                return
            }
            let isFull = error.code == .cannotWrite
            self.init(
                HTTPResponse.Status(code: answer.status), problem,
                isFull
                    ? "The disk of the server took no more data; make room there, and send the request again."
                    : error.message.sentence,
                members: error.code == .conflict
                    ? error.id.map { [.init("id", .string($0.description))] } ?? [] : [])
        }
    }

    package init(_ error: PayloadError) { self.init(SluiceError(error)) }

    package static let storeUnavailable = Problem(
        .serviceUnavailable, "store-unavailable", "The store is busy; send the request again in a moment.",
        fields: [.retryAfter: "1"])

    private static let noSuchCommand = Problem(
        .notFound, "command-not-found", "There is no command with that id; it may have been removed after its end.")

    package static func noCommand(_ id: CommandID) -> Problem {
        Problem(
            .notFound, "command-not-found",
            "There is no command \(id); it never was, or was removed some time after its end.")
    }
}

extension String {
    private static let maxSentence = 900

    /// With a capital at the start and a full stop at the end, unless it ends as a sentence already. The middle of a text
    /// of more than 900 characters is left out: messages quote what a client sent, which may be a megabyte.
    package var sentence: String {
        let whole = prefix(1).uppercased() + dropFirst()
        let isLong = whole.unicodeScalars.count > Self.maxSentence
        return (isLong ? "\(whole.scalars(first: 600)) … \(whole.scalars(last: 300))" : whole).withFullStop
    }

    private func scalars(first count: Int) -> String { String(unicodeScalars.prefix(count)) }

    private func scalars(last count: Int) -> String { String(unicodeScalars.suffix(count)) }
}
