internal import Commands
internal import Transfers

/// Decides which request a download sends next, and what each answer means. Pure. One value serves one
/// execution:
///
/// ```
/// var rules = DownloadRequestRules(terms, checkpoint: …, partLength: …, boot: …)
/// send rules.request                  a lost connection ends the execution; the part and the checkpoint stay
///   answer(_:)                        for the head of the final answer, after redirects
///     .replace, .append               the body, divided by DownloadBodyCursor; then bodyEnded(at:)
///                                     or overlapDiffered(), or limitExceeded()
///     .complete                       if a checksum is wrong: checksumDiffered(_:)
///     .send                           the next request
/// ```
///
/// The bytes of two versions of a file are never mixed, as far as its server can be checked:
///
/// * A part is continued only by a strong validator in `If-Range`, or with a checksum in the payload.
/// * The last 16 KiB of the part are requested again and compared. nginx gives two versions of one second and
///   one size the same strong tag (measured).
/// * A 206 with another total, tag or date, or without the tag that was asked for, starts the download over.
///
/// Sources: RFC 9110, sections 8.8, 13.1.5, 14 and 15.5.17.
struct DownloadRequestRules: Sendable {
    /// Bytes of the part that are requested again. A part of up to this size starts over.
    static let overlap: Int64 = 16 << 10
    /// How often an execution may start over before it fails.
    static let maxRestarts = 3

    /// The answer whose body is being received.
    struct Receiving: Sendable {
        var body: DownloadBody
        /// The body is a range; false: the whole file.
        var isPart: Bool
        var isDelimited: Bool
        /// The body was counted in ``DownloadCounts/resumed``.
        var isResumption = false
    }

    let terms: DownloadTerms
    /// The state to save.
    var checkpoint: DownloadCheckpoint
    /// The request to send next.
    var request: DownloadRequest
    /// Bytes of the part that are valid.
    var partLength: Int64
    /// The offset up to which this execution has compared or written the file.
    var reached: Int64
    var receiving: Receiving?
    /// The server's checksums of the whole file.
    var serverChecksums: [Checksum] = []
    /// Whether the end of the complete part was marked; false: it was the end of the connection.
    var endIsMarked = true
    var restarts = 0
    var hasContinued = false
    var hasRepeatedForbidden = false

    /// - Parameters:
    ///   - checkpoint: of the earlier executions; nil: the part is not continued.
    ///   - partLength: the bytes of the part that are valid (``PartFile/validLength(of:_:boot:)``).
    ///   - boot: of the machine, now.
    init(_ terms: DownloadTerms, checkpoint: DownloadCheckpoint?, partLength: Int64, boot: String) {
        self.terms = terms
        self.checkpoint = checkpoint ?? DownloadCheckpoint(boot: boot)
        self.checkpoint.boot = boot
        self.partLength = max(partLength, 0)
        reached = 0
        request = .whole(condition: terms.condition)
        let start = self.partLength - Self.overlap
        guard checkpoint != nil, start > 0, total.map({ self.partLength <= $0 }) ?? true,
            let resume = range(from: start)
        else { return }
        request = resume
        reached = start
    }

    /// Bytes of the whole file, as far as known.
    var total: Int64? { checkpoint.total ?? terms.size }

    /// Records that the first bytes of the part survive a loss of power. Save the checkpoint after it.
    mutating func markSynced(_ length: Int64) { checkpoint.synced = max(length, 0) }

    /// A request for the rest of the file; nil where nothing would show that the file is the same.
    func range(from start: Int64) -> DownloadRequest? {
        let ifRange = checkpoint.validators.ifRange
        guard ifRange != nil || terms.checksum != nil else { return nil }
        return .range(from: start, ifRange: ifRange)
    }

    // MARK: Answers

    /// Decides what the head of an answer to ``request`` means.
    mutating func answer(_ answer: DownloadAnswer) -> DownloadAction {
        receiving = nil
        if request == .head { return headAnswered(answer) }
        switch answer.status {
        case 200, 203: return ok(answer)
        case 206:
            guard !answer.isMultipart, case .part(let range, let total) = answer.contentRange else {
                return startOver("GET \(terms.url) was answered 206 without a usable Content-Range")
            }
            return part(range, total: total, answer)
        case 304 where request == .whole(condition: terms.condition) && terms.condition?.isEmpty == false:
            return .notModified
        case 403 where answer.wasRedirected && !hasRepeatedForbidden:
            // The target of a redirect may have expired (signed URLs).
            hasRepeatedForbidden = true
            return .send(request)
        case 416:
            guard case .range = request else { return .refused }
            return unsatisfied(answer)
        case 200..<300:
            return failed(
                .command, "GET \(terms.url) was answered \(answer.status), which is not an answer with a file")
        default: return .refused
        }
    }

    private mutating func ok(_ answer: DownloadAnswer) -> DownloadAction {
        if case .range = request, answer.isMultipart || answer.hasUnusableRange {
            return startOver("GET \(terms.url) was answered \(answer.status) with a range that cannot be read")
        }
        guard case .part(let range, let total) = answer.contentRange,
            !(range.lowerBound == 0 && range.upperBound == total)
        else { return whole(answer) }
        // A server that answers 200 with a range (modelscope_hub#50), if the length agrees; else the field is wrong.
        let length = answer.length
        if length == nil || length == Int64(range.count) { return part(range, total: total, answer) }
        if length == total { return whole(answer) }
        return startOver("GET \(terms.url) was answered with a Content-Range that its Content-Length contradicts")
    }

    /// 416: the file has no bytes from the offset on.
    private mutating func unsatisfied(_ answer: DownloadAnswer) -> DownloadAction {
        // Apache httpd and lighttpd state no length (measured).
        guard case .unsatisfied(let length) = answer.contentRange else { return sendHead() }
        guard length == partLength, total.map({ $0 == length }) ?? true else {
            return startOver("\(terms.url) now has \(length) bytes, and the part has \(partLength)")
        }
        switch checkpoint.validators.comparison(with: answer.validators) {
        case .different: return startOver("\(terms.url) has changed")
        case .same: return complete(isDelimited: true)
        case .unknown: return terms.checksum != nil ? complete(isDelimited: true) : sendHead()
        }
    }

    private mutating func headAnswered(_ answer: DownloadAnswer) -> DownloadAction {
        switch answer.status {
        case 200:
            let comparison = checkpoint.validators.comparison(with: answer.validators)
            guard answer.length == partLength, total.map({ $0 == partLength }) ?? true,
                comparison == .same || terms.checksum != nil && comparison == .unknown
            else { return startOver("\(terms.url) is not the version that the part was taken from") }
            serverChecksums = answer.checksums
            return complete(isDelimited: true)
        case 401, 408, 421, 423, 425, 429, 500, 502...504, 507, 511: return .refused
        default: return startOver("HEAD \(terms.url) was answered \(answer.status)")
        }
    }

    private mutating func sendHead() -> DownloadAction {
        request = .head
        return .send(request)
    }

    // MARK: Ends

    /// Starts over by a new request without a range. The part stays until the answer is there.
    mutating func startOver(_ reason: String) -> DownloadAction {
        receiving = nil
        restarts += 1
        guard restarts <= Self.maxRestarts else {
            return failed(.command, "\(reason); this download has already started over \(Self.maxRestarts) times")
        }
        reached = 0
        request = .whole(condition: terms.condition)
        return .send(request)
    }

    func failed(_ fault: CommandFailure.Fault, _ reason: String) -> DownloadAction {
        .failed(CommandFailure(fault, reason: reason), deletesPart: fault == .final)
    }

    /// A size or checksum that is wrong for the second time in a row is wrong at the source.
    mutating func mismatched(_ reason: String, deletesPart: Bool) -> DownloadAction {
        receiving = nil
        checkpoint.mismatches += 1
        let isFinal = checkpoint.mismatches >= 2
        if deletesPart {
            var emptied = DownloadCheckpoint(boot: checkpoint.boot)
            emptied.mismatches = checkpoint.mismatches
            emptied.counts = checkpoint.counts
            emptied.counts.wasted += partLength
            emptied.counts.restarted += 1
            checkpoint = emptied
            partLength = 0
        }
        let again = isFinal ? " for the second time; correct the payload or the file at the source" : ""
        return .failed(
            CommandFailure(isFinal ? .final : .command, reason: reason + again), deletesPart: isFinal || deletesPart)
    }

    /// The part has all bytes.
    /// - Parameter isDelimited: whether the server has stated the length, or marked the end.
    mutating func complete(isDelimited: Bool) -> DownloadAction {
        endIsMarked = isDelimited
        if let size = terms.size, partLength != size {
            return mismatched(
                "\(terms.url) has \(partLength) bytes, and “size” is \(size)", deletesPart: true)
        }
        var checksums = terms.checksum.map { [$0] } ?? []
        // The algorithm of the payload's checksum costs nothing more; then those of `ChecksumAlgorithm`, in order.
        let algorithms = (terms.checksum.map { [$0.algorithm] } ?? []) + ChecksumAlgorithm.allCases
        let known = serverChecksums
        let server = algorithms.lazy.compactMap { algorithm in known.first { $0.algorithm == algorithm } }.first
        if let server, !checksums.contains(server) { checksums.append(server) }
        return .complete(
            DownloadCompletion(
                length: partLength, checksums: checksums,
                isUnverified: !isDelimited && terms.size == nil && terms.checksum == nil))
    }

    /// Decides after a checksum of a complete part was wrong.
    mutating func checksumDiffered(_ checksum: Checksum) -> DownloadAction {
        let origin = checksum == terms.checksum ? "the payload" : "the server"
        let reason =
            "\(terms.url) has another \(checksum.algorithm.rawValue) than \(origin) states, \(checksum.text)"
        // Without a length the connection may have been lost, so the part may be right and short.
        return endIsMarked
            ? mismatched(reason, deletesPart: true)
            : failed(.command, "\(reason); the server stated no length, so it may have been cut off")
    }
}

/// The parts of a payload that decide about requests.
struct DownloadTerms: Sendable, Equatable {
    /// The source, for messages.
    var url: String
    var checksum: Checksum?
    var size: Int64?
    /// 0: no limit.
    var maxBytes: Int64 = 0
    /// The validators of the target, for “ifChanged”.
    var condition: DownloadValidators?
}

extension DownloadTerms {
    init(_ payload: DownloadPayload, condition: DownloadValidators?) {
        self.init(
            url: payload.url.displayText, checksum: payload.checksum, size: payload.size, maxBytes: payload.maxBytes,
            condition: payload.ifChanged ? condition : nil)
    }
}
