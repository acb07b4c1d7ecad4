internal import Commands

/// Final refusals that are equal for every command: a gateway, a login page or a wrong setting answers in place of the
/// destination. Pure.
///
/// A refusal of one command alone is final, because no retry changes it. From the fifth equal one on, to different commands
/// within an hour, with no success between them, it is the destination's failure: the commands wait, uncharged.
package struct EqualRefusals: Sendable {
    /// The compared part of a refusal: the status and the start of the body, or the code of the answer.
    package struct Answer: Sendable, Equatable {
        private let status: Int
        private let start: [UInt8]

        /// - Parameter body: its first 256 bytes are compared.
        package init(_ status: Int, _ body: some Sequence<UInt8>) {
            self.status = status
            start = Array(body.prefix(256))
        }
    }

    static let refusalsToBlame = 5
    /// How long a refusal counts, and a success speaks for the destination.
    static let memory: Duration = .seconds(3600)

    private var answer: Answer?
    /// The oldest first, at most ``refusalsToBlame``.
    private var refused: [(id: CommandID, at: ContinuousClock.Instant)] = []

    /// Takes in a final refusal.
    /// - Returns: the commands that were given up by the same answer before, where it is the destination's failure; nil where
    ///   it is the command's.
    mutating func add(_ answer: Answer, of id: CommandID, now: ContinuousClock.Instant) -> [CommandID]? {
        if answer != self.answer { refused = [] }
        self.answer = answer
        refused.removeAll { now - $0.at >= Self.memory }
        if !refused.contains(where: { $0.id == id }) {
            // The first ones stay, because these are the ones that were given up.
            if refused.count >= Self.refusalsToBlame { refused.removeLast() }
            refused.append((id, now))
        }
        guard refused.count >= Self.refusalsToBlame else { return nil }
        return refused.dropLast().map(\.id)
    }

    /// The text behind the answer in a reason.
    /// - Parameter givenUp: the commands that the same answer has ended.
    static func advice(_ destination: Destination, givenUp: [CommandID]) -> String {
        "; \(destination) refuses every command in this way, so that commands wait until it accepts one. Given up before: "
            + "once it is mended, “sluice retry \(givenUp.map(\.description).joined(separator: " "))”"
    }
}

/// Files that a destination has refused as too large (413). The limit is the file's affair, so only files of that size and
/// above wait once it is known. Pure.
struct LargeFileRefusals: Sendable {
    /// From one file that is tried to the next.
    static let probeInterval: Duration = .seconds(60)

    private var refused: [(id: CommandID, size: Int64, at: ContinuousClock.Instant)] = []
    private var nextProbe: ContinuousClock.Instant?

    /// The smallest size that was refused; nil where too few files were.
    private var limit: Int64? {
        refused.count >= EqualRefusals.refusalsToBlame ? refused.map(\.size).min() : nil
    }

    /// Takes in the refusal of a file.
    /// - Returns: the wait until the file may be tried again, in place of its end; nil where the file is given up.
    mutating func add(_ id: CommandID, size: Int64, now: ContinuousClock.Instant) -> Duration? {
        refused.removeAll { now - $0.at >= EqualRefusals.memory || $0.id == id }
        if refused.count >= EqualRefusals.refusalsToBlame {
            // A smaller file tells more of the limit.
            if let largest = refused.indices.max(by: { refused[$0].size < refused[$1].size }) {
                refused.remove(at: largest)
            }
        }
        refused.append((id, size, now))
        guard limit != nil else { return nil }
        nextProbe = now + Self.probeInterval
        return Self.probeInterval
    }

    /// Asks before a file is sent. A file that may go is a probe: the next one has to wait.
    /// - Returns: how long the file has to wait; nil where it may go.
    mutating func wait(size: Int64, now: ContinuousClock.Instant) -> (wait: Duration, limit: Int64)? {
        guard let limit, size >= limit, let nextProbe else { return nil }
        if now >= nextProbe {
            self.nextProbe = now + Self.probeInterval
            return nil
        }
        return (nextProbe - now, limit)
    }

    /// A file of that size was accepted.
    mutating func accepted(size: Int64) {
        if refused.contains(where: { $0.size <= size }) { self = LargeFileRefusals() }
    }
}
