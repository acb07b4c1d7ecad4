internal import Commands
internal import HTTPClient

/// Decides how a resumable upload goes on: for every protocol, without a clock and without I/O.
///
/// ```
///              vanished, another file
///          ┌─────────────────────────────┐
///          ▼                             │
///        begin ──► append ──► append ──► confirm ──► finish
///                  │    ▲       │
///                  ▼    │       │  refused offset, lost connection, smaller chunk, server error at the end
///    (checkpoint) locate ◄──────┘
///                  │    ▲
///                  ▼    │  locked; gone with most of the upload: asked again
///                  pause
/// ```
///
/// The number of requests is bounded: every ``ResumptionStep/locate`` counts until a byte is gained, pauses and chunks
/// that become smaller are counted by themselves, and so are new uploads.
struct Resumption: Sendable {
    struct Limits: Sendable, Equatable {
        /// Questions for the offset in a row without a byte gained, after which the destination is not believed.
        var maxAttemptsWithoutProgress = 6
        /// Uploads that one execution makes.
        var maxBegins = 2
        /// Lost kept connections in a row after which the next one ends the execution.
        var maxLostConnections = 2
        /// Pauses before a locked upload is asked for again; anew after each gain.
        var lockWaits: [Duration] = []
        /// Pause before an upload that seems to have vanished is asked for a second time.
        var secondQuestion: Duration = .seconds(1)
        /// Bytes from which on, or from half of the file on, a loss is worth a second question.
        var largeLoss: Int64 = 64 << 20
    }

    /// Where an execution starts.
    enum Opening: Sendable {
        case begin
        /// An earlier execution has left a checkpoint.
        /// - held: bytes that the destination held then, as far as known.
        case locate(held: Int64)
        /// The dialect was found out by a request that has made the upload.
        case begun(ResumptionAnswer)
    }

    let size: Int64
    let isIdempotent: Bool
    let limits: Limits
    /// Bytes of a request at most; nil: all that is left.
    private(set) var chunk: Int64?
    /// For messages: `the upload to https://media.example.com/files/`.
    private let name: String

    private var step = ResumptionStep.begin
    /// The most that the destination has been seen to hold of this upload, in bytes; -1: nothing is known.
    private var held: Int64 = -1
    /// What is lost where the upload has vanished, in bytes, as far as known.
    private var atStake: Int64 = 0
    private var attempts = 0
    private var begins = 0
    private var lostConnections = 0
    private var waits: ArraySlice<Duration> = []
    private var hasAskedTwice = false
    private var refusal: (failure: any Error, offset: Int64)?
    /// The answer to the last byte, while it is not known whether the upload was processed.
    private var failureAtEnd: CommandFailure?

    init(of name: String, size: Int64, isIdempotent: Bool, chunk: Int64?, limits: Limits) {
        self.name = name
        self.size = size
        self.isIdempotent = isIdempotent
        self.chunk = chunk.map { max($0, 1) }
        self.limits = limits
        waits = limits.lockWaits[...]
    }

    mutating func start(_ opening: Opening) -> ResumptionStep {
        switch opening {
        case .begin: step = begin()
        case .locate(let held):
            atStake = held
            step = locate()
        case .begun(let answer):
            begins = 1
            step = .begin
            return next(after: answer)
        }
        return step
    }

    /// - Returns: the step after a ``ResumptionStep/pause(_:)``.
    mutating func pauseEnded() -> ResumptionStep {
        step = .locate
        return step
    }

    /// - Parameter answer: to the step that was ordered last.
    mutating func next(after answer: ResumptionAnswer) -> ResumptionStep {
        step = decide(answer)
        return step
    }

    private mutating func decide(_ answer: ResumptionAnswer) -> ResumptionStep {
        switch answer {
        case .holds(let offset, let record): return holds(offset, record)
        case .unconfirmed: return .confirm
        case .vanished: return vanished()
        case .foreign: return failureAtEnd == nil ? begin() : vanished()
        case .refusesOffset(let failure):
            if let failure, case .append(let range) = step { refusal = (failure, range.lowerBound) }
            return locate()
        case .locked(let failure):
            guard let wait = waits.popFirst() else { return fail(failure) }
            return .pause(wait)
        case .tooLarge(let failure):
            guard case .append(let range) = step,
                let smaller = ChunkSizes.smaller(than: range.upperBound - range.lowerBound)
            else { return fail(failure) }
            chunk = smaller
            return .locate
        case .lostConnection(let failure):
            guard isIdempotent, lostConnections < limits.maxLostConnections else { return fail(failure) }
            lostConnections += 1
            return locate()
        case .failedAtEnd(let failure):
            failureAtEnd = failure
            return locate()
        case .takesWholeOnly(let isOurs): return .sendWhole(isOurs: isOurs)
        case .failed(let error): return fail(error)
        }
    }

    // MARK: Decisions

    private mutating func holds(_ offset: Int64, _ record: HTTPRecord) -> ResumptionStep {
        guard (0...size).contains(offset) else { return failureAtEnd == nil ? begin() : vanished() }
        if case .append(let range) = step {
            // A part was taken: the destination is asked, for it may still be writing.
            guard offset == range.upperBound else { return locate() }
            lostConnections = 0
        } else if var failure = failureAtEnd, offset < size {
            // Bytes are missing, so nothing was processed.
            failure.ambiguous = false
            return .fail(failure)
        } else if let refusal, refusal.offset == offset {
            return fail(refusal.failure)
        }
        refusal = nil
        hasAskedTwice = false
        atStake = offset
        if offset > held {
            held = offset
            attempts = 0
            waits = limits.lockWaits[...]
        }
        guard offset < size else { return .finish(record) }
        return .append(offset..<min(size, offset + min(chunk ?? size, size - offset)))
    }

    /// A replica that does not know the upload answers 404, too. Before much is sent again the destination is asked
    /// twice.
    private mutating func vanished() -> ResumptionStep {
        if var failure = failureAtEnd {
            failure.reason += "; the upload is gone since, so it may have been processed"
            failure.ambiguous = true
            return .fail(failure)
        }
        guard !hasAskedTwice, atStake > limits.largeLoss || atStake > size / 2 else { return begin() }
        hasAskedTwice = true
        let next = locate()
        if case .locate = next { return .pause(limits.secondQuestion) }
        return next
    }

    private mutating func begin() -> ResumptionStep {
        begins += 1
        guard begins <= limits.maxBegins else { return standstill("it vanishes as soon as it is made") }
        (held, atStake) = (-1, 0)
        hasAskedTwice = false
        refusal = nil
        return .begin
    }

    private mutating func locate() -> ResumptionStep {
        attempts += 1
        guard attempts <= limits.maxAttemptsWithoutProgress else {
            return standstill(
                "the destination names offsets and then refuses them, the last at \(atStake) of \(size) bytes")
        }
        return .locate
    }

    private func standstill(_ why: String) -> ResumptionStep {
        fail(CommandFailure(.command, reason: "\(name) makes no progress: \(why)"))
    }

    private func fail(_ error: any Error) -> ResumptionStep {
        guard failureAtEnd != nil, var failure = error as? CommandFailure else { return .fail(error) }
        failure.ambiguous = true
        return .fail(failure)
    }
}
