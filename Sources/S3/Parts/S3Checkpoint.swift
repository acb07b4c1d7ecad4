package import Commands
internal import Crypto
internal import HTTPClient
internal import Transfers

/// The state that an `s3` saves in the store, so that any worker can resume it after this one has died.
///
/// The tags of all parts take 400 kB for 10,000 parts. So that an upload of 80 GB writes no more than 30 MB of
/// checkpoints, parts are saved one by one up to 64, and then in groups (``isDue(unsaved:)``). The parts that are
/// missing here are found by ListParts.
///
/// ```
/// {"s3": "initiated",                      the phase
///  "upload": "VXBsb2FkSUQ",                the id of the multipart upload; absent while it is planned
///  "partSize": 8388608, "parts": 12,       the plan
///  "abortDate": 1763000000000,             when the bucket's lifecycle deletes the upload
///  "restarts": 1,                          uploads that were lost so far
///  "denied": true,                         the last answer was AccessDenied
///  "aborted": 1763000000000,               when the endpoint accepted the abort
///  "damaged": 7,                           a part that was refused with BadDigest
///  "tags": ["d41d…", null, ["0cc1…", "4waSgw=="]],    of the acknowledged parts from 1 on, some with a checksum
///  "source": {…}}                          the file for which it is valid
/// ```
package struct S3Checkpoint: Sendable, Equatable {
    /// The maximum length of an upload's id in bytes; AWS has about 130.
    static let maxUploadID = 1024
    /// The number of times that an upload may be lost, before the loss is charged to the command.
    static let maxRestarts = 3

    private(set) var phase: S3Phase
    /// The id of the multipart upload; nil exactly while it is planned.
    package private(set) var uploadID: String?
    let partSize: Int64
    let partCount: Int
    var abortDate: Timestamp?
    private(set) var restarts = 0
    var wasDenied = false
    var damagedPart: Int?
    /// When the endpoint accepted the abort; nil before.
    package private(set) var abortedAt: Timestamp?
    let source: SourceIdentity
    /// The acknowledged parts by number.
    private(set) var parts: [Int: S3Part] = [:]

    init(_ plan: PartPlan, of source: SourceIdentity) {
        phase = .planned
        partSize = plan.partSize
        partCount = plan.count
        self.source = source
    }

    /// - Returns: nil where there is no checkpoint, or this program cannot read it. Then the upload starts
    ///   over.
    package init?(_ bytes: [UInt8]?) {
        guard let bytes, let value = try? JSONValue(parsing: bytes),
            let phase = value["s3"]?.string.flatMap(S3Phase.init), let described = value["source"],
            let source = try? SourceIdentity(described), let partSize = value["partSize"]?.integer,
            let count = value["parts"]?.integer,
            let plan = try? PartPlan(size: source.size, partSize: partSize), plan.count == count
        else { return nil }
        self.init(plan, of: source)
        self.phase = phase
        uploadID = value["upload"]?.string
        guard (uploadID == nil) == (phase == .planned), uploadID.map(Self.isUploadID) ?? true else { return nil }
        abortDate = value["abortDate"]?.integer.map(Timestamp.init(milliseconds:))
        if phase == .aborting { abortedAt = value["aborted"]?.integer.map(Timestamp.init(milliseconds:)) }
        restarts = Int(clamping: min(max(value["restarts"]?.integer ?? 0, 0), Int64(Self.maxRestarts)))
        wasDenied = value["denied"]?.bool ?? false
        damagedPart = value["damaged"]?.integer.flatMap { (1...count).contains($0) ? Int($0) : nil }
        for (index, tag) in (value["tags"]?.elements ?? []).prefix(partCount).enumerated() {
            guard let part = Self.part(index + 1, tag) else { continue }
            parts[part.number] = part
        }
    }

    var bytes: [UInt8] {
        var writer = JSONWriter(capacity: 384)
        writer.beginObject()
        writer.member("s3", phase.rawValue)
        if let uploadID { writer.member("upload", uploadID) }
        writer.member("partSize", partSize)
        writer.member("parts", partCount)
        if let abortDate { writer.member("abortDate", abortDate.milliseconds) }
        if restarts > 0 { writer.member("restarts", restarts) }
        if wasDenied { writer.member("denied", true) }
        if let abortedAt { writer.member("aborted", abortedAt.milliseconds) }
        if let damagedPart { writer.member("damaged", damagedPart) }
        writer.member("source", source.json)
        if let last = parts.keys.max() {
            writer.member("tags", .array((1...last).map { parts[$0].map(Self.tag) ?? .null }))
        }
        writer.endObject()
        return writer.bytes
    }

    private static func tag(_ part: S3Part) -> JSONValue {
        guard let checksum = part.checksum else { return .string(part.etag) }
        return [.string(part.etag), .string(checksum)]
    }

    /// - Returns: nil for a value of another form. Then the part counts as not acknowledged.
    private static func part(_ number: Int, _ tag: JSONValue) -> S3Part? {
        let texts = tag.string.map { [$0] } ?? (tag.elements ?? []).compactMap(\.string)
        guard (1...2).contains(texts.count), let etag = S3Tag.text(texts[0]) else { return nil }
        return S3Part(number, etag: etag, checksum: texts.count == 2 ? texts[1] : nil)
    }

    /// The plan of the upload.
    var plan: PartPlan? { try? PartPlan(size: source.size, partSize: partSize) }

    /// Whether the checkpoint is for the file as it is now. An upload of another file is aborted.
    func isValid(for source: SourceIdentity) -> Bool { self.source.difference(from: source) == nil }

    /// Whether the id of an upload can be stored and sent.
    package static func isUploadID(_ text: String) -> Bool {
        (1...maxUploadID).contains(text.utf8.count) && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
    }

    // MARK: Parts

    /// The numbers of the acknowledged parts.
    var acknowledged: Set<Int> { Set(parts.keys) }

    /// The acknowledged parts in the order of their numbers.
    var sortedParts: [S3Part] { parts.values.sorted { $0.number < $1.number } }

    mutating func acknowledge(_ part: S3Part) { parts[part.number] = part }

    mutating func lose(_ numbers: [Int]) { for number in numbers { parts[number] = nil } }

    /// Whether this number of acknowledged parts is worth a commit.
    func isDue(unsaved: Int) -> Bool { unsaved > parts.count / 64 }

    // MARK: Steps

    /// The upload exists.
    /// - Parameter uploadID: as ``isUploadID(_:)`` accepts it.
    func initiated(_ uploadID: String, abortDate: Timestamp?) -> S3Checkpoint {
        var next = self
        next.phase = .initiated
        next.parts = [:]
        next.uploadID = uploadID
        next.abortDate = abortDate
        return next
    }

    /// Every part is acknowledged. This is committed before the completion is sent.
    func completing() -> S3Checkpoint {
        var next = self
        if phase == .initiated { next.phase = .completing }
        return next
    }

    /// The upload is given up.
    func aborting() -> S3Checkpoint {
        var next = self
        if uploadID != nil { next.phase = .aborting }
        return next
    }

    /// The endpoint has accepted the abort. A part that was under way may still arrive, and is looked for later
    /// (``CleanupOperation``).
    func aborted(at time: Timestamp) -> S3Checkpoint {
        var next = aborting()
        if next.phase == .aborting { next.abortedAt = time }
        return next
    }

    /// The upload is lost, and a new one is planned.
    /// - Returns: nil after ``maxRestarts`` losses.
    func restarted() -> S3Checkpoint? {
        guard restarts < Self.maxRestarts else { return nil }
        var next = self
        next.phase = .planned
        next.uploadID = nil
        next.abortDate = nil
        next.damagedPart = nil
        next.parts = [:]
        next.restarts += 1
        return next
    }
}

/// How far a multipart upload has come.
enum S3Phase: String, Sendable, CaseIterable {
    /// No multipart upload is known to exist.
    case planned
    /// The upload exists, and parts are sent.
    case initiated
    /// All parts are acknowledged, and the completion may have been sent.
    case completing
    /// The upload is given up; its parts are to be deleted.
    case aborting
}

/// A part that the endpoint has acknowledged, as the checkpoint has it.
struct S3Part: Sendable, Equatable {
    /// 1…10,000
    var number: Int
    /// Without quotes.
    var etag: String
    /// The value of `x-amz-checksum-crc32c`; nil with any other ``S3Checksum``.
    var checksum: String?

    init(_ number: Int, etag: String, checksum: String? = nil) {
        self.number = number
        self.etag = etag
        self.checksum = checksum
    }
}

/// The `ETag` of parts and objects.
enum S3Tag {
    /// The maximum length of a tag in bytes; AWS has 35.
    static let maxLength = 256

    /// The tag without its quotes.
    /// - Returns: nil for an empty or a long tag, and for one with other than printable ASCII.
    static func text(_ field: some StringProtocol) -> String? {
        var text = field.trimmed[...]
        if text.hasPrefix("W/") { text = text.dropFirst(2) }
        if text.utf8.count >= 2, text.hasPrefix("\""), text.hasSuffix("\"") { text = text.dropFirst().dropLast() }
        guard (1...maxLength).contains(text.utf8.count), text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            return nil
        }
        return String(text)
    }

    /// The tag that S3 gives an object of parts whose tags are MD5s: the MD5 of these MD5s, a hyphen and
    /// their number.
    /// - Parameter parts: in the order of their numbers.
    /// - Returns: nil where a tag is not an MD5, as with server-side encryption by KMS.
    static func composite(of parts: [S3Part]) -> String? {
        guard !parts.isEmpty else { return nil }
        var hash = Insecure.MD5()
        for part in parts {
            guard let bytes = Hexadecimal.bytes(part.etag), bytes.count == 16 else { return nil }
            hash.update(data: bytes)
        }
        return "\(Hexadecimal.text(hash.finalize()))-\(parts.count)"
    }
}
