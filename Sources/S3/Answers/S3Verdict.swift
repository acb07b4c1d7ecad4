package import Commands
internal import HTTPClient

/// Decides what a refusal of S3 means for its command. ``HTTPVerdict`` decides where no response came.
///
/// | code or status | decision |
/// |---|---|
/// | SlowDown, ServiceUnavailable, 503 | push-back; charged while other commands are answered, else uncharged |
/// | InternalError, RequestTimeout, OperationAborted, IncompleteBody | charged |
/// | 408, 421, 423, 425, 429, 500, 502, 504 and other 5xx | charged; 429 is a push-back |
/// | InvalidAccessKeyId, SignatureDoesNotMatch, ExpiredToken, InvalidToken, 401 | credential |
/// | AccessDenied, 403 | the first time credential, then final; final at once for a download |
/// | NoSuchBucket, EntityTooLarge, InvalidArgument, KeyTooLong, other 4xx, 501 | final |
/// | NoSuchUpload, InvalidPart, InvalidPartOrder, 404 of a part | HEAD, a new upload; after 3 charged |
/// | BadDigest, XAmzContentSHA256Mismatch | the part again; the second time final |
/// | RequestTimeTooSkewed | the clock is corrected once, uncharged; then final |
/// | PermanentRedirect, 3xx, AuthorizationHeaderMalformed with a region | final, names the right place |
/// | 409 ConditionalRequestConflict | a new upload; charged for a PUT |
/// | 412 with `ifAbsent` | HEAD: this command's own object is success, another one final |
/// | 507 | destination |
/// | 401, 403 and their codes for a presigned URL | final; names the expiry of an expired one |
///
/// A code counts before the status, because an error may come with 200. Ambiguous are the answers 200, 500,
/// 502 and 504 to a request that makes the object.
package struct S3Verdict: Sendable {
    /// The request in messages: `PUT https://s3.example.com/media/a.mp4, part 3`.
    package let request: String
    package let destination: Destination
    /// This host's clock when the response came.
    package let now: Timestamp

    package init(request: String, destination: Destination, now: Timestamp) {
        self.request = request
        self.destination = destination
        self.now = now
    }

    package func decision(_ refusal: S3Refusal, _ attempt: S3Attempt) -> S3Decision {
        switch refusal.code {
        case "SlowDown", "ServiceUnavailable", "SlowDownRead", "SlowDownWrite": slowDown(refusal)
        case "InternalError", "RequestTimeout", "OperationAborted", "IncompleteBody": charged(refusal, attempt)
        case "RequestTimeTooSkewed": skewed(refusal, attempt)
        case "BadDigest", "XAmzContentSHA256Mismatch": damaged(refusal, attempt)
        case "NoSuchUpload", "InvalidPart", "InvalidPartOrder": lost(refusal, attempt)
        case "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken":
            credential(refusal, attempt)
        case "AuthorizationHeaderMalformed":
            refusal.region == nil ? credential(refusal, attempt) : elsewhere(refusal)
        case "AccessDenied": denied(refusal, attempt)
        case "PermanentRedirect", "TemporaryRedirect", "Redirect": elsewhere(refusal)
        case "ConditionalRequestConflict": conflict(refusal, attempt)
        case "PreconditionFailed": exists(refusal, attempt)
        case "NoSuchBucket": final(refusal, "make the bucket, or correct “bucket” and submit again")
        case "EntityTooLarge": final(refusal, "the endpoint takes no object of this size")
        case "InvalidArgument", "NotImplemented":
            final(refusal, "the endpoint does not accept an option of the command; correct it and submit again")
        case "KeyTooLong", "KeyTooLongError": final(refusal, "give it a shorter “key”")
        default: byStatus(refusal, attempt)
        }
    }

    /// The verdict on a success that cannot be read. Whether the object exists is not known.
    /// - Parameters:
    ///   - problem: the sentence of ``S3Answer/unreadable(_:)``.
    ///   - status: the status of the response.
    func failure(unreadable problem: String, status: Int, _ step: S3Step) -> CommandFailure {
        var failure = CommandFailure(
            .command, reason: "\(request) was answered \(status) \(problem)", ambiguous: step.makesObject)
        failure.isAnswer = true
        return failure
    }

    private func byStatus(_ refusal: S3Refusal, _ attempt: S3Attempt) -> S3Decision {
        switch refusal.status {
        case 300..<400: elsewhere(refusal)
        case 401: credential(refusal, attempt)
        case 403: denied(refusal, attempt)
        case 404 where attempt.step.needsUpload: lost(refusal, attempt)
        case 412: exists(refusal, attempt)
        case 501: final(refusal, "the endpoint does not support an option of the command")
        case 503: slowDown(refusal)
        case 507: fail(.destination, refusal, "make room at \(destination)")
        case 511: fail(.link, refusal)
        case 408, 421, 423, 425, 429, 500..<600: charged(refusal, attempt)
        case 400..<500: wait(refusal) == nil ? final(refusal, nil) : charged(refusal, attempt)
        default: charged(refusal, attempt)
        }
    }

    // MARK: Rows

    private func slowDown(_ refusal: S3Refusal) -> S3Decision {
        var failure = failure(.link, refusal, isPushback: true)
        failure.isUnavailable = refusal.status == 503
        return .fail(failure)
    }

    private func charged(_ refusal: S3Refusal, _ attempt: S3Attempt) -> S3Decision {
        let isUnclear = refusal.status < 400 || [500, 502, 504].contains(refusal.status)
        var failure = failure(.command, refusal, isPushback: refusal.status == 429)
        failure.ambiguous = isUnclear && attempt.step.makesObject
        return .fail(failure)
    }

    private func skewed(_ refusal: S3Refusal, _ attempt: S3Attempt) -> S3Decision {
        guard let serverTime = refusal.serverTime else {
            return final(refusal, "set this host's clock; it differs from the endpoint's by more than 15 minutes")
        }
        let offset = S3ClockOffset.measured(serverTime: serverTime, now: now)
        if attempt.authority == .credential, !attempt.hasCorrectedClock { return .correctClock(offset) }
        return final(refusal, "this host's clock is \(offset.text); set it")
    }

    private func damaged(_ refusal: S3Refusal, _ attempt: S3Attempt) -> S3Decision {
        switch attempt.step {
        case .part, .put:
            attempt.wasDamaged
                ? final(
                    refusal,
                    "it is the second time: the source or the path damages bytes; check the disk, the memory and the "
                        + "proxies of this host") : .sendAgain
        case .create, .complete, .abort, .listParts, .listUploads, .head, .get: charged(refusal, attempt)
        }
    }

    private func lost(_ refusal: S3Refusal, _ attempt: S3Attempt) -> S3Decision {
        guard attempt.step.needsUpload, attempt.restarts < S3Checkpoint.maxRestarts else {
            return charged(refusal, attempt)
        }
        return .inspectThenRestart
    }

    private func credential(_ refusal: S3Refusal, _ attempt: S3Attempt) -> S3Decision {
        if case .presigned(let expiry) = attempt.authority { return presigned(refusal, expiry) }
        return fail(
            .credential, refusal,
            "check the access key of \(destination): “sluice config check” says where it is taken from")
    }

    private func denied(_ refusal: S3Refusal, _ attempt: S3Attempt) -> S3Decision {
        if case .presigned(let expiry) = attempt.authority { return presigned(refusal, expiry) }
        if attempt.step == .get {
            return final(
                refusal,
                "give the access key the right s3:GetObject; without s3:ListBucket a missing object is denied too")
        }
        return attempt.wasDenied
            ? final(refusal, "it is denied again; give the access key the right to write there, and retry the command")
            : fail(.credential, refusal, "check the access key of \(destination), and its rights for the bucket")
    }

    private func presigned(_ refusal: S3Refusal, _ expiry: Timestamp?) -> S3Decision {
        let time = refusal.serverTime ?? now
        if let expiry = refusal.expires ?? expiry, expiry <= time {
            return final(refusal, "the presigned URL expired at \(expiry); submit again with a new one")
        }
        return final(refusal, "the presigned URL is not valid for this request; submit again with a new one")
    }

    private func elsewhere(_ refusal: S3Refusal) -> S3Decision {
        if let endpoint = refusal.endpoint { return final(refusal, "submit again with “endpoint” for \(endpoint)") }
        if let region = refusal.region { return final(refusal, "submit again with “region”: “\(region)”") }
        return final(refusal, "the bucket is at another endpoint or in another region, which the answer does not name")
    }

    private func conflict(_ refusal: S3Refusal, _ attempt: S3Attempt) -> S3Decision {
        attempt.step == .complete && attempt.restarts < S3Checkpoint.maxRestarts
            ? .restart : charged(refusal, attempt)
    }

    private func exists(_ refusal: S3Refusal, _ attempt: S3Attempt) -> S3Decision {
        guard attempt.ifAbsent, attempt.step.makesObject else { return final(refusal, nil) }
        return .inspectThenFail(
            failure(.final, refusal, "another object has this key, and “ifAbsent” does not replace it"))
    }

    // MARK: Failures

    private func final(_ refusal: S3Refusal, _ remedy: String?) -> S3Decision { fail(.final, refusal, remedy) }

    private func fail(_ fault: CommandFailure.Fault, _ refusal: S3Refusal, _ remedy: String? = nil) -> S3Decision {
        .fail(failure(fault, refusal, remedy))
    }

    private func failure(
        _ fault: CommandFailure.Fault, _ refusal: S3Refusal, _ remedy: String? = nil, isPushback: Bool = false
    ) -> CommandFailure {
        var failure = CommandFailure(
            fault, reason: "\(request) was answered \(refusal.text)\(remedy.map { "; \($0)" } ?? "")",
            retryAfter: fault == .final ? nil : wait(refusal))
        failure.isPushback = isPushback
        // 511 comes from the login page of a network, not from the endpoint.
        failure.isAnswer = refusal.status != 511
        return failure
    }

    private func wait(_ refusal: S3Refusal) -> Duration? {
        refusal.retryAfter.flatMap { RetryAfter.duration($0, now: now) }
    }
}

/// The consequence of a refusal.
package enum S3Decision: Sendable, Equatable {
    case fail(CommandFailure)
    /// Sign with this offset and send once more; not charged. Later requests to the endpoint use it as well.
    case correctClock(S3ClockOffset)
    /// Send the same bytes once more.
    case sendAgain
    /// HEAD. Where the object is not this command's, the upload is lost: plan a new one
    /// (``S3Checkpoint/restarted()``).
    case inspectThenRestart
    /// Abort the upload and plan a new one.
    case restart
    /// HEAD. Where the object is this command's, it has succeeded; else it fails like this.
    case inspectThenFail(CommandFailure)
}

/// The facts about a refused request and its command that a verdict needs.
package struct S3Attempt: Sendable, Equatable {
    enum Authority: Sendable, Equatable {
        /// The credential of the endpoint.
        case credential
        /// A presigned URL.
        /// - Parameter expiry: as the URL says.
        case presigned(expiry: Timestamp?)
    }

    var step: S3Step
    var authority = Authority.credential
    /// The request was signed with a corrected clock because of a RequestTimeTooSkewed before it.
    package var hasCorrectedClock = false
    /// The previous answer to the command was AccessDenied (``S3Checkpoint/wasDenied``).
    var wasDenied = false
    /// The same bytes were refused before because of their digest (``S3Checkpoint/damagedPart``).
    var wasDamaged = false
    /// Uploads lost so far (``S3Checkpoint/restarts``).
    var restarts = 0
    /// The command never replaces an object.
    var ifAbsent = false

    package init(_ step: S3Step) { self.step = step }
}

/// A request of an `s3`, or of a download from S3.
package enum S3Step: Sendable, Equatable {
    case create
    case part(Int)
    case complete
    /// One PutObject, or the PUT of a presigned URL.
    case put
    case abort
    case listParts
    case listUploads
    case head
    case get

    /// Whether the request makes the object, so that an unclear answer leaves it unclear whether it exists.
    var makesObject: Bool { self == .complete || self == .put }

    /// Whether the request names a multipart upload.
    var needsUpload: Bool {
        switch self {
        case .part, .complete, .listParts: true
        case .create, .put, .abort, .listUploads, .head, .get: false
        }
    }
}
