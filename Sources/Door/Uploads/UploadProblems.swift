internal import Commands
internal import Console
package import HTTPTypes
internal import Store
package import UploadSpool
package import Uploads

/// The problem of each error of the upload engine, before a protocol adds its own fields.
enum UploadProblems {
    /// Seconds after which a client repeats a request that met a busy store or a door that ends.
    static let retryAfter = "5"

    static func problem(_ error: UploadError) -> Problem {
        var problem = Problem(status(error.code), type(error.code), error.message)
        switch error.code {
        case .offsetMismatch(let expected): problem.members.append(.init("expected-offset", .integer(expected)))
        case .tooLarge(let limit): problem.members.append(.init("limit", .integer(limit)))
        case .unavailable: problem.fields[.retryAfter] = retryAfter
        case .uniqueKeyTaken(let holder): problem.members.append(.init("command", .string("\(holder)")))
        case .tooMany(let wait): problem.fields[.retryAfter] = "\(Int(wait.seconds.rounded(.up)))"
        default: break
        }
        return problem
    }

    private static func status(_ code: UploadError.Code) -> HTTPResponse.Status {
        switch code {
        case .notFound: .notFound
        case .gone: .gone
        case .offsetMismatch, .keyInUse, .complete, .uniqueKeyTaken: .conflict
        case .tooLarge: .contentTooLarge
        case .inconsistentLength, .unfinishedPart, .invalid, .interrupted: .badRequest
        case .checksumMismatch, .digestMismatch: .badRequest
        case .isFinal, .refused: .forbidden
        case .noSpace: .insufficientStorage
        case .tooMany: .tooManyRequests
        case .unavailable: .serviceUnavailable
        case .keyConflict, .inconsistentStatement: .unprocessableContent
        case .failed: .internalServerError
        }
    }

    /// The first three are the names of the IETF draft.
    private static func type(_ code: UploadError.Code) -> String {
        switch code {
        case .offsetMismatch: "mismatching-upload-offset"
        case .inconsistentLength: "inconsistent-upload-length"
        case .inconsistentStatement: "inconsistent-upload"
        case .complete: "completed-upload"
        case .notFound: "upload-not-found"
        case .gone: "upload-gone"
        case .tooLarge: "upload-too-large"
        case .isFinal: "final-upload"
        case .unfinishedPart: "unfinished-part"
        case .checksumMismatch: "checksum-mismatch"
        case .digestMismatch: "digest-mismatch"
        case .interrupted: "upload-interrupted"
        case .noSpace: "insufficient-storage"
        case .tooMany: "too-many-uploads"
        case .unavailable: "unavailable"
        case .keyInUse: "idempotency-key-in-use"
        case .keyConflict: "idempotency-key-conflict"
        case .uniqueKeyTaken: "unique-key-taken"
        case .refused: "upload-refused"
        case .invalid: "invalid-upload"
        case .failed: "upload-failed"
        }
    }

    /// The same for an upload that is not there, and for one of another token: ids are not told apart by guessing.
    static func notFound(_ id: String) -> Problem {
        Problem(
            .notFound, "upload-not-found",
            "There is no upload “\(id.excerpt)” for this token; use the URL that its creation answered.")
    }
}

extension HTTPResponse.Status {
    static let locked = HTTPResponse.Status(code: 423, reasonPhrase: "Locked")
    /// Of tus.
    static let checksumMismatch = HTTPResponse.Status(code: 460, reasonPhrase: "Checksum Mismatch")
    package static let insufficientStorage = HTTPResponse.Status(code: 507, reasonPhrase: "Insufficient Storage")
    /// Of the IETF draft.
    static let uploadResumptionSupported = HTTPResponse.Status(code: 104, reasonPhrase: "Upload Resumption Supported")
}

extension Problem {
    /// The problem of an error of the upload engine, without the fields of a protocol.
    package init(_ error: UploadError) { self = UploadProblems.problem(error) }
}

extension SpoolFigures {
    /// Why the door refuses uploads of any size; nil while there is room. `/readyz`, `doctor`, `status` and the pages say
    /// this.
    package var problem: String? {
        guard room == 0 else { return nil }
        if let quota, used >= quota {
            return "uploads are refused: the spool has \(Figures.bytes(used)), and its quota is "
                + "\(Figures.bytes(quota)); wait until uploads are sent on, or raise door.uploadQuota"
        }
        return "uploads are refused: the disk of the spool has \(Figures.bytes(max(free - promised, 0))) free, of "
            + "which \(Figures.bytes(floor)) must stay free; make room, or set door.minFreeSpace"
    }

    /// The figures in a sentence.
    package var summary: String {
        let bound = quota.map { " of at most \(Figures.bytes($0))" } ?? ""
        return "\(Figures.bytes(used))\(bound); its disk has \(Figures.bytes(free)) free, of which "
            + "\(Figures.bytes(floor)) stay free"
    }
}
