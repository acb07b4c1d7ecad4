internal import Commands
internal import HTTPClient

/// Decides the steps of a resumable upload, for every protocol. Pure.
///
/// ```
///              vanished, another file
///          ┌─────────────────────────────┐
///          ▼                             │
///        create ─► append ──► append ──► confirm ──► finish
///                  │    ▲       │
///                  ▼    │       │  refused offset, lost connection, smaller chunk, error or no answer at the end
///    (checkpoint) locate ◄──────┘
///                  │    ▲
///                  ▼    │  locked, or most of the upload has vanished: queried again
///                  pause
/// ```
///
/// The number of requests is bounded. Every ``ResumptionStep/locate`` counts until the offset grows. Pauses,
/// smaller chunks and new uploads have limits of their own.
struct Resumption: Sendable {
    struct Limits: Sendable, Equatable {
        /// The maximum queries for the offset in a row while it does not grow.
        var maxAttemptsWithoutProgress = 6
        /// The maximum uploads that one execution creates.
        var maxCreations = 2
        /// The maximum lost kept connections in a row.
        var maxLostConnections = 2
        /// The delays before a locked upload is queried again. They start over when the offset grows.
        var lockRetryDelays: [Duration] = []
        /// The delay before an upload that seems to have vanished is queried a second time.
        var vanishedRecheckDelay: Duration = .seconds(1)
        /// A loss of more bytes, or of more than half of the file, is worth a second query.
        var largeLoss: Int64 = 64 << 20
    }

    /// Where an execution starts.
    enum Start: Sendable {
        case create
        /// An earlier execution has saved a checkpoint.
        /// - held: bytes that the destination held then, as far as known.
        case locate(held: Int64)
        /// The query for the dialect has created the upload.
        case created(ResumptionAnswer)
    }

    let size: Int64
    let isIdempotent: Bool
    let limits: Limits
    /// The maximum bytes of a request; nil: the rest of the file.
    private(set) var chunk: Int64?
    /// The upload in messages: `the upload to https://media.example.com/files/`.
    private let name: String

    private var step = ResumptionStep.create
    /// The maximum bytes that the destination has held of this upload; -1 where nothing is known.
    private var bytesHeld: Int64 = -1
    /// The bytes that are lost if the upload has vanished: those that were sent, also where no answer has confirmed them.
    private var bytesAtRisk: Int64 = 0
    private var attempts = 0
    private var creations = 0
    private var lostConnections = 0
    private var waits: ArraySlice<Duration> = []
    private var hasRechecked = false
    private var refusal: (failure: any Error, offset: Int64)?
    /// The failure after the last byte, while it is unknown whether the upload was processed.
    private var failureAtEnd: CommandFailure?

    init(of name: String, size: Int64, isIdempotent: Bool, chunk: Int64?, limits: Limits) {
        self.name = name
        self.size = size
        self.isIdempotent = isIdempotent
        self.chunk = chunk.map { max($0, 1) }
        self.limits = limits
        waits = limits.lockRetryDelays[...]
    }

    mutating func start(_ start: Start) -> ResumptionStep {
        switch start {
        case .create: step = create()
        case .locate(let held):
            bytesAtRisk = held
            step = locate()
        case .created(let answer):
            creations = 1
            step = .create
            return next(after: answer)
        }
        return step
    }

    /// - Returns: the step after ``ResumptionStep/pause(_:)``.
    mutating func pauseEnded() -> ResumptionStep {
        step = .locate
        return step
    }

    /// - Parameter answer: the answer to the last step.
    mutating func next(after answer: ResumptionAnswer) -> ResumptionStep {
        step = decide(answer)
        return step
    }

    private mutating func decide(_ answer: ResumptionAnswer) -> ResumptionStep {
        switch answer {
        case .holds(let offset, let record): return holds(offset, record)
        case .unconfirmed: return .confirm
        case .vanished: return vanished()
        case .foreign: return failureAtEnd == nil ? create() : vanished()
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
        case .lostConnection(let failure, let sent):
            bytesAtRisk = max(bytesAtRisk, sent)
            guard isIdempotent, lostConnections < limits.maxLostConnections else { return fail(failure) }
            lostConnections += 1
            return locate()
        case .failedAtEnd(let failure):
            bytesAtRisk = size
            failureAtEnd = failure
            return locate()
        case .takesWholeOnly(let isOurs): return .sendWhole(isOurs: isOurs)
        case .failed(let error): return fail(error)
        }
    }

    // MARK: Decisions

    private mutating func holds(_ offset: Int64, _ record: HTTPRecord) -> ResumptionStep {
        guard (0...size).contains(offset) else { return failureAtEnd == nil ? create() : vanished() }
        if case .append(let range) = step {
            // The destination took a part, and may still be writing: query the offset.
            guard offset == range.upperBound else { return locate() }
            lostConnections = 0
        } else if var failure = failureAtEnd, offset < size {
            // Bytes are missing, so the upload was not processed.
            failure.ambiguous = false
            guard failure.fault == .reset, lostConnections < limits.maxLostConnections else { return .fail(failure) }
            lostConnections += 1
            failureAtEnd = nil
        } else if let refusal, refusal.offset == offset {
            return fail(refusal.failure)
        }
        refusal = nil
        hasRechecked = false
        bytesAtRisk = offset
        if offset > bytesHeld {
            bytesHeld = offset
            attempts = 0
            waits = limits.lockRetryDelays[...]
        }
        guard offset < size else { return .finish(record) }
        return .append(offset..<min(size, offset + min(chunk ?? size, size - offset)))
    }

    /// Handles an upload that does not exist. A replica that has not received the upload answers 404 too, so
    /// before much is sent again the query is repeated.
    private mutating func vanished() -> ResumptionStep {
        if !hasRechecked, bytesAtRisk > limits.largeLoss || bytesAtRisk > size / 2 {
            hasRechecked = true
            let next = locate()
            if case .locate = next { return .pause(limits.vanishedRecheckDelay) }
            return next
        }
        // A new upload within this execution would send the whole file again, and most likely end in the same way.
        guard var failure = failureAtEnd else { return create() }
        failure.reason += "; the upload no longer exists, so it may have been processed"
        failure.ambiguous = true
        // The destination has answered since, so the link is not at fault.
        if failure.fault == .reset { failure.fault = .command }
        failure.isAnswer = true
        return .fail(failure)
    }

    private mutating func create() -> ResumptionStep {
        creations += 1
        guard creations <= limits.maxCreations else { return noProgress("it vanishes as soon as it is created") }
        (bytesHeld, bytesAtRisk) = (-1, 0)
        hasRechecked = false
        refusal = nil
        return .create
    }

    private mutating func locate() -> ResumptionStep {
        attempts += 1
        guard attempts <= limits.maxAttemptsWithoutProgress else {
            return noProgress(
                "the destination reports offsets and then refuses them, the last at \(bytesAtRisk) of \(size) bytes")
        }
        return .locate
    }

    private func noProgress(_ why: String) -> ResumptionStep {
        fail(CommandFailure(.command, reason: "\(name) makes no progress: \(why)"))
    }

    private func fail(_ error: any Error) -> ResumptionStep {
        guard failureAtEnd != nil, var failure = error as? CommandFailure else { return .fail(error) }
        failure.ambiguous = true
        return .fail(failure)
    }
}

/// The next step of a resumable upload, decided by ``Resumption``.
enum ResumptionStep: Sendable {
    /// Create the upload at the destination.
    case create
    /// Query how many bytes the destination holds.
    case locate
    /// Send these bytes of the file.
    case append(Range<Int64>)
    /// Query whether the destination holds every byte.
    case confirm
    /// Wait, then ``locate``.
    case pause(Duration)
    /// The destination holds every byte, according to this answer.
    case finish(HTTPRecord)
    /// The destination takes the file in one request only.
    /// - isOurs: this upload has created the target.
    case sendWhole(isOurs: Bool)
    case fail(any Error)
}

/// The answer of a destination to a step of a resumable upload, as read by an ``ResumptionDialect``.
enum ResumptionAnswer: Sendable {
    /// The destination holds this many bytes from the start.
    case holds(Int64, HTTPRecord)
    /// The destination took the bytes; the new offset is unknown.
    case unconfirmed
    /// The upload does not exist: 404, 410.
    case vanished
    /// The target is another file.
    case foreign
    /// The destination refuses the offset. A query may return another one. With the same offset again, the
    /// upload ends with this failure; nil: it is tried again.
    case refusesOffset((any Error)?)
    /// Another request has locked the upload (423), usually one over a broken connection.
    case locked(any Error)
    /// The request was too large (413).
    case tooLarge(any Error)
    /// A kept connection ended during the request. It may have been closed before the request arrived.
    /// - sent: the offset in the file up to which bytes have left.
    case lostConnection(any Error, sent: Int64)
    /// A server error, or no answer, after the last byte of the file: the destination may have processed the upload.
    case failedAtEnd(CommandFailure)
    /// The destination takes the file in one request only.
    /// - isOurs: this upload has created the target.
    case takesWholeOnly(isOurs: Bool)
    case failed(any Error)
}

/// A protocol for resumable uploads: sends its requests and reads the answers. ``Resumption`` decides the
/// steps.
protocol ResumptionDialect: Sendable {
    /// The state that another execution needs to resume the upload; nil before ``create()``.
    var checkpoint: UploadCheckpoint.ResumePoint? { get }
    /// Whether the file may be sent in several requests.
    var takesChunks: Bool { get }

    /// Creates the upload.
    mutating func create() async -> ResumptionAnswer
    /// Queries how many bytes the destination holds.
    func locate() async -> ResumptionAnswer
    /// Sends bytes from the offset that the destination reported.
    func append(_ range: Range<Int64>) async -> ResumptionAnswer
    /// Queries whether the destination holds every byte.
    func confirm() async -> ResumptionAnswer
}
