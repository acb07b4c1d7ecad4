import TestSupport

@testable import FileOps
@testable import Transfers

/// One version of the file of an origin.
struct SimulatedVersion: Sendable {
    static let oldDate = "Fri, 14 Nov 2025 08:00:00 GMT"

    var bytes: [UInt8]
    var tag: String?
    var lastModified: String?
    var type = "video/mp4"
    /// Further fields, such as checksums.
    var fields: [(name: String, value: String)] = []

    /// Random bytes of a seed.
    static func bytes(_ count: Int, seed: UInt64) -> [UInt8] {
        var random = SeededRandom(seed: seed)
        return [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            for index in stride(from: 0, to: count, by: 8) {
                var word = random.next()
                for offset in index..<min(index + 8, count) {
                    buffer[offset] = UInt8(truncatingIfNeeded: word)
                    word >>= 8
                }
            }
            initialized = count
        }
    }
}

/// How an origin departs from RFC 9110.
struct SimulatedFaults: Sendable {
    enum RangeField: Sendable {
        case correct, missing, star, malformed, multipart, otherTotal
    }

    enum Delimiting: Sendable {
        case length, chunked, close
    }

    /// Answers 200 to every range.
    var ignoresRange = false
    /// Answers 206 also where the validator of If-Range is not the current one.
    var ignoresIfRange = false
    /// How many bytes before the asked offset an answer starts; negative: after it. `.max`: at 0.
    var startsEarlier = 0
    /// The maximum length of a 206.
    var pieceLength: Int?
    var rangeField = RangeField.correct
    /// The status of an answer with a range.
    var rangeStatus = 206
    /// Leaves out the validators of a 206.
    var omitsValidators = false
    /// Answers a range that starts at the end of the file by 416 without a length.
    var omitsLengthOf416 = false
    /// Answers every range by 416, with the length of the file.
    var refusesRanges = false
    /// Sends other bytes than Content-Range states.
    var shiftsBody = false
    var delimiting = Delimiting.length
    /// After which byte of the body the next answer ends; nil: it is whole.
    var cutsAt: Int?
    /// Whether the cut looks like the end of the body: it has no length.
    var cutLooksWhole: Bool { delimiting == .close }
}

/// The answer of an origin.
struct SimulatedAnswer {
    var head: DownloadAnswer
    var body: ArraySlice<UInt8> = []
    /// Whether the body ended as HTTP marks it; false: the connection was lost.
    var endsAsMarked = true
}

/// A server with one file, in memory.
struct SimulatedOrigin: Sendable {
    static let page = Array("<html>please log in</html>".utf8)

    var version: SimulatedVersion
    var faults = SimulatedFaults()
    var date = "Fri, 21 Nov 2025 10:00:00 GMT"
    /// Answers that come before that of the file: a status, 200 for a login page.
    var nextStatuses: [Int] = []
    var wasRedirected = false
    private(set) var requests: [DownloadRequest] = []

    init(_ version: SimulatedVersion) { self.version = version }

    mutating func forgetRequests() { requests = [] }

    mutating func answer(_ request: DownloadRequest) -> SimulatedAnswer {
        requests.append(request)
        if !nextStatuses.isEmpty {
            let status = nextStatuses.removeFirst()
            let body = status == 200 ? Self.page : []
            return head(status, [("Content-Type", "text/html"), ("Content-Length", "\(body.count)")], body[...])
        }
        switch request {
        case .head: return head(200, representation + [("Content-Length", "\(version.bytes.count)")], [])
        case .whole(let condition):
            if let tag = condition?.tag?.text, tag == version.tag { return head(304, [], []) }
            return whole()
        case .range(let start, let ifRange):
            let isCurrent = ifRange == nil || ifRange == version.tag || ifRange == version.lastModified
            guard !faults.ignoresRange, isCurrent || faults.ignoresIfRange else { return whole() }
            return range(from: Int(start))
        }
    }

    private var representation: [(name: String, value: String)] {
        [("Content-Type", version.type)] + validators + version.fields
    }

    private var validators: [(name: String, value: String)] {
        (version.tag.map { [("ETag", $0)] } ?? []) + (version.lastModified.map { [("Last-Modified", $0)] } ?? [])
    }

    private mutating func whole() -> SimulatedAnswer { head(200, representation, version.bytes[...], isBody: true) }

    private mutating func range(from asked: Int) -> SimulatedAnswer {
        let count = version.bytes.count
        guard !faults.refusesRanges, asked < count else {
            return head(416, faults.omitsLengthOf416 ? [] : [("Content-Range", "bytes */\(count)")], [])
        }
        let start = faults.startsEarlier == .max ? 0 : min(max(asked - faults.startsEarlier, 0), count - 1)
        let end = min(count, start + (faults.pieceLength ?? count))
        var fields = faults.omitsValidators ? version.fields : validators + version.fields
        switch faults.rangeField {
        case .correct: fields.append(("Content-Range", "bytes \(start)-\(end - 1)/\(count)"))
        case .missing: break
        case .star: fields.append(("Content-Range", "bytes \(start)-\(end - 1)/*"))
        case .malformed: fields.append(("Content-Range", "bytes \(end - 1)-\(start)/\(count)"))
        case .multipart: fields.append(("Content-Type", "multipart/byteranges; boundary=x"))
        case .otherTotal: fields.append(("Content-Range", "bytes \(start)-\(end - 1)/\(count + 1)"))
        }
        if faults.rangeField != .multipart { fields.append(("Content-Type", version.type)) }
        let first = faults.shiftsBody ? max(start - 1, 0) : start
        return head(faults.rangeStatus, fields, version.bytes[first..<first + (end - start)], isBody: true)
    }

    private mutating func head(
        _ status: Int, _ fields: [(name: String, value: String)], _ body: ArraySlice<UInt8>, isBody: Bool = false
    ) -> SimulatedAnswer {
        var fields = fields + [("Date", date)]
        if isBody {
            switch faults.delimiting {
            case .length: fields.append(("Content-Length", "\(body.count)"))
            case .chunked: fields.append(("Transfer-Encoding", "chunked"))
            case .close: break
            }
        }
        var answer = SimulatedAnswer(
            head: DownloadAnswer(status: status, fields: HeaderFields(fields), wasRedirected: wasRedirected), body: body
        )
        if isBody, let cut = faults.cutsAt, cut < body.count {
            answer.body = body.prefix(cut)
            answer.endsAsMarked = faults.cutLooksWhole
        }
        faults.cutsAt = nil
        return answer
    }
}
