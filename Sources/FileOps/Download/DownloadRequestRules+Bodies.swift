internal import Commands

extension DownloadRequestRules {
    /// The answer has the whole file: it replaces the part, whatever was asked for. Appending it would mix
    /// two versions.
    mutating func whole(_ answer: DownloadAnswer) -> DownloadAction {
        if let failure = refusal(ofTotal: answer.length, answer) { return failure }
        return replace(answer, total: answer.length, end: answer.length, isPart: false)
    }

    /// The answer has a range of the file.
    mutating func part(_ range: Range<Int64>, total: Int64?, _ answer: DownloadAnswer) -> DownloadAction {
        guard answer.length == nil || answer.length == range.upperBound - range.lowerBound else {
            return startOver("GET \(terms.url) was answered with a Content-Range that its Content-Length contradicts")
        }
        switch request {
        case .range(let start, let ifRange):
            if let reason = objection(to: range, total: total, answer, start: start, ifRange: ifRange) {
                return startOver(reason)
            }
            if checkpoint.total == nil { checkpoint.total = total }
            if let failure = limitFailure(total) { return failure }
            return append(range, answer)
        case .whole, .head:
            guard range.lowerBound == 0 else {
                return failed(
                    .command,
                    "GET \(terms.url) was answered with a part from byte \(range.lowerBound) that was not asked for")
            }
            if let failure = refusal(ofTotal: total, answer) { return failure }
            return replace(answer, total: total, end: range.upperBound, isPart: true)
        }
    }

    /// Why a range cannot be appended to the part, in a sentence; nil where it can.
    private func objection(
        to range: Range<Int64>, total: Int64?, _ answer: DownloadAnswer, start: Int64, ifRange: String?
    ) -> String? {
        if let total, let known = self.total, total != known {
            return "\(terms.url) now has \(total) bytes instead of \(known)"
        }
        if let total = total ?? self.total, total < partLength || total < range.upperBound {
            return "\(terms.url) has \(total) bytes, fewer than the part"
        }
        guard range.lowerBound <= start else {
            return "GET \(terms.url) was answered from byte \(range.lowerBound) on instead of \(start)"
        }
        switch checkpoint.validators.comparison(with: answer.validators) {
        case .same: return nil
        case .different: return "\(terms.url) has changed"
        case .unknown:
            // A server may leave out the date that If-Range has confirmed, but not the tag (RFC 9110, section 15.3.7).
            let isConfirmed = ifRange != nil && checkpoint.validators.tag == nil
            return isConfirmed || terms.checksum != nil
                ? nil : "GET \(terms.url) was answered with a part without the tag of its version"
        }
    }

    private mutating func append(_ range: Range<Int64>, _ answer: DownloadAnswer) -> DownloadAction {
        let overlapEnd = max(min(partLength, range.upperBound), range.lowerBound)
        let body = DownloadBody(
            start: range.lowerBound, end: range.upperBound, overlap: range.lowerBound..<overlapEnd, maxEnd: maxEnd)
        checkpoint.sawOtherPage = false
        let isResumption = !hasContinued
        if isResumption { checkpoint.counts.resumed += 1 }
        hasContinued = true
        checkpoint.counts.wasted += overlapEnd - range.lowerBound
        if !answer.checksums.isEmpty { serverChecksums = answer.checksums }
        receiving = Receiving(
            body: body, isPart: true, isDelimited: answer.isDelimited, isResumption: isResumption)
        return .append(body)
    }

    private mutating func replace(
        _ answer: DownloadAnswer, total: Int64?, end: Int64?, isPart: Bool
    ) -> DownloadAction {
        if partLength > 0 {
            checkpoint.counts.restarted += 1
            checkpoint.counts.wasted += partLength
        }
        checkpoint.validators = answer.validators
        checkpoint.total = total
        checkpoint.mediaType = answer.mediaType
        checkpoint.synced = 0
        checkpoint.sawOtherPage = false
        serverChecksums = answer.checksums
        (partLength, reached) = (0, 0)
        // Later ranges of this execution continue its own part.
        hasContinued = true
        let body = DownloadBody(start: 0, end: end, overlap: 0..<0, maxEnd: maxEnd)
        receiving = Receiving(body: body, isPart: isPart, isDelimited: answer.isDelimited)
        return .replace(body)
    }

    private var maxEnd: Int64 { min(terms.maxBytes > 0 ? terms.maxBytes : .max, terms.size ?? .max) }

    // MARK: Refusals

    /// Refuses a new body that cannot be the file.
    private mutating func refusal(ofTotal total: Int64?, _ answer: DownloadAnswer) -> DownloadAction? {
        if looksLikeOtherPage(answer, total), !checkpoint.sawOtherPage {
            checkpoint.sawOtherPage = true
            let length = total.map { "\($0) bytes" } ?? "unknown length"
            return failed(
                .command,
                "GET \(terms.url) was answered with \(answer.mediaType ?? "a body") of \(length), which looks like "
                    + "another page than the \(checkpoint.mediaType ?? "file") of before; check whether the URL needs "
                    + "a login")
        }
        if let size = terms.size, let total, total != size {
            return mismatched("\(terms.url) has \(total) bytes, and “size” is \(size)", deletesPart: false)
        }
        return limitFailure(total)
    }

    /// Whether the answer may be a login page, which must not replace a part at once. A server that confirms
    /// the tag, or has the same type or length, has the file.
    private func looksLikeOtherPage(_ answer: DownloadAnswer, _ total: Int64?) -> Bool {
        guard partLength > 0, let known = checkpoint.mediaType, let type = answer.mediaType, known != type else {
            return false
        }
        return (checkpoint.total == nil || checkpoint.total != total)
            && checkpoint.validators.comparison(with: answer.validators) != .same
    }

    private func limitFailure(_ total: Int64?) -> DownloadAction? {
        guard terms.maxBytes > 0, let total, total > terms.maxBytes else { return nil }
        return failed(.final, "\(terms.url) has \(total) bytes, more than “maxBytes”, \(terms.maxBytes)")
    }

    // MARK: Ends of bodies

    /// Decides after a body has ended: by its length, its last chunk or, where the head stated neither, the
    /// end of the connection; or after ``DownloadBodyCursor/isAtEnd``. A lost connection is a failure of the
    /// transfer and is not reported here.
    /// - Parameter position: the offset after the last byte (``DownloadBodyCursor/position``).
    mutating func bodyEnded(at position: Int64) -> DownloadAction {
        guard let receiving else { return failed(.command, "GET \(terms.url): no body was expected") }
        self.receiving = nil
        let body = receiving.body
        partLength = max(partLength, position)
        if let end = body.end, position < end {
            return failed(.reset, "the body of GET \(terms.url) ended at byte \(position) instead of \(end)")
        }
        if let size = terms.size, position < size, !receiving.isPart, !receiving.isDelimited {
            return failed(.reset, "the body of GET \(terms.url) ended at byte \(position) instead of \(size)")
        }
        guard receiving.isPart else { return complete(isDelimited: receiving.isDelimited) }
        if let total, partLength >= total {
            return partLength == total
                ? complete(isDelimited: true) : startOver("\(terms.url) has \(total) bytes, fewer than the part")
        }
        let isProgress = position > reached
        reached = max(reached, position)
        // At most half of the bytes from the requested offset on, so that a server of small pieces makes progress,
        // also one that starts each before the offset.
        let overlap = isProgress ? min(Self.overlap, (position - max(requestedStart, body.start)) / 2) : 0
        if !isProgress, case .range(let start, _) = request, start >= reached { return nothingNew() }
        guard let next = range(from: reached - overlap) else {
            return failed(
                .command,
                "GET \(terms.url) was answered with a part that ends at byte \(position), and without a strong "
                    + "validator, so the rest cannot be requested; give the payload a “checksum”")
        }
        request = next
        return .send(request)
    }

    private var requestedStart: Int64 {
        if case .range(let start, _) = request { start } else { 0 }
    }

    private mutating func nothingNew() -> DownloadAction {
        guard total == nil else {
            return failed(.command, "GET \(terms.url) brought no byte after \(reached) of \(total ?? 0)")
        }
        request = .head
        return .send(request)
    }

    /// Decides after the body has not repeated the end of the part.
    mutating func overlapDiffered() -> DownloadAction {
        if receiving?.isResumption == true { checkpoint.counts.resumed -= 1 }
        return startOver("\(terms.url) has other bytes than the part, under the same validator")
    }

    /// Decides after a body was longer than the file may be (``DownloadBodyCursor/Step/exceedsLimit``).
    mutating func limitExceeded() -> DownloadAction {
        if let size = terms.size, terms.maxBytes == 0 || size <= terms.maxBytes {
            return mismatched("\(terms.url) has more than \(size) bytes, which “size” states", deletesPart: true)
        }
        return failed(.final, "\(terms.url) has more bytes than “maxBytes”, \(terms.maxBytes)")
    }
}
