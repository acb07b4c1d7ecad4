/// Counts the executions of one command, in a row, that ended without progress. Pure.
///
/// A transfer that each execution brings further may take as many executions as it needs; one that always ends at
/// the same byte never will end. So charged failures, and the growth of waits, count only executions that did not
/// raise the highest durable offset. An offset that falls and rises again is not progress.
package struct ProgressCounter: Sendable, Equatable {
    /// The end of a body that was cut off.
    package struct BodyEnd: Sendable, Equatable {
        /// The offset after the last byte that arrived.
        package var offset: Int64
        /// The length that the peer states; nil: none.
        package var length: Int64?

        package init(offset: Int64, length: Int64?) { (self.offset, self.length) = (offset, length) }
    }

    /// Executions in a row that end at the same byte from which on the end is charged, whatever its fault.
    package static let maxEqualEnds = 3

    package private(set) var highest: Int64 = 0
    /// The end of the last bodies, and their number.
    private var end: Int64 = -1
    private var ends = 0
    /// The first answer that said that the body is still being made (``CommandFailure/isPending``).
    private var pendingSince: Timestamp?

    /// How long such answers may follow each other.
    package static let maxPending: Duration = .seconds(7 * 86_400)

    package enum Verdict: Sendable, Equatable {
        /// The highest durable offset was raised: failures are counted from 0 again.
        case progress
        case none
        /// Bodies end at the same byte.
        case stuck(ends: Int)
    }

    package init() {}

    /// An execution has failed.
    /// - Parameters:
    ///   - durable: the offset from which the next execution goes on, as far as known; 0: it starts over.
    ///   - body: the end of a body that was cut off; nil: the peer did not answer.
    package mutating func failed(durable: Int64, body: BodyEnd?) -> Verdict {
        if durable > highest {
            highest = durable
            (end, ends, pendingSince) = (body?.offset ?? -1, body == nil ? 0 : 1, nil)
            return .progress
        }
        // A link that is away says nothing about the body.
        guard let body else { return .none }
        ends = body.offset == end ? min(ends + 1, 1_000_000) : 1
        end = body.offset
        return ends >= Self.maxEqualEnds ? .stuck(ends: ends) : .none
    }

    /// The peer still makes the body.
    /// - Returns: false where it has done so for ``maxPending``.
    package mutating func pending(now: Timestamp) -> Bool {
        let since = pendingSince ?? now
        pendingSince = since
        return now - since < Self.maxPending
    }

    /// The failure as it counts.
    package func counted(_ failure: CommandFailure, _ verdict: Verdict) -> CommandFailure {
        var failure = failure
        switch verdict {
        case .none: break
        case .progress:
            failure.hasProgress = true
            // Bytes came, so the destination answers: its link does not wait longer after each cut.
            if failure.fault == .reset, failure.bodyEnd != nil { failure.isAnswer = true }
        case .stuck(let ends):
            failure.fault = .command
            let stated = failure.bodyEnd?.length.map { "states \($0)" } ?? "states no length"
            failure.reason +=
                "; it \(stated) and sends \(failure.bodyEnd?.offset ?? 0) each time, \(ends) times in a row"
        }
        return failure
    }
}

extension ProgressCounter {
    /// A name that no operation uses, so that the name of no member occurs twice.
    private static let name = Array(#""sluice.progress":["#.utf8)

    /// The counter at the end of a checkpoint that is a JSON object, and the checkpoint without it.
    package static func split(_ checkpoint: [UInt8]?) -> (state: [UInt8]?, counter: ProgressCounter) {
        guard let checkpoint, checkpoint.suffix(2).elementsEqual("]}".utf8),
            let start = checkpoint.lastIndex(of: UInt8(ascii: "[")), start >= name.count,
            checkpoint[(start - name.count + 1)...start].elementsEqual(name)
        else { return (checkpoint, ProgressCounter()) }
        let numbers = checkpoint[(start + 1)...].dropLast(2).split(separator: UInt8(ascii: ","))
            .compactMap { Int64(String(decoding: $0, as: UTF8.self)) }
        guard numbers.count == 5, numbers[0] >= 0, (0...1_000_000).contains(numbers[2]) else {
            return (checkpoint, ProgressCounter())
        }
        var counter = ProgressCounter()
        (counter.highest, counter.end, counter.ends) = (numbers[0], numbers[1], Int(numbers[2]))
        if numbers[3] > 0 { counter.pendingSince = Timestamp(milliseconds: numbers[3]) }
        // The operation has saved none.
        if numbers[4] == 0 { return (nil, counter) }
        var state = Array(checkpoint[..<(start - name.count + 1)])
        if state.last == UInt8(ascii: ",") { state.removeLast() }
        return (state + [UInt8(ascii: "}")], counter)
    }

    /// The checkpoint with the counter as its last member, `"sluice.progress"`. One that is not a JSON object stays as it is.
    /// - Parameter state: nil where the operation has saved none.
    package func joined(to state: [UInt8]?) -> [UInt8] {
        let numbers = "\(highest),\(end),\(ends),\(pendingSince?.milliseconds ?? 0)"
        guard let state else { return Array("{\"sluice.progress\":[\(numbers),0]}".utf8) }
        guard self != ProgressCounter(), state.first == UInt8(ascii: "{"), state.last == UInt8(ascii: "}") else {
            return state
        }
        let separator = state.count > 2 ? "," : ""
        return state.dropLast() + Array("\(separator)\"sluice.progress\":[\(numbers),1]}".utf8)
    }
}
