internal import Commands
internal import Transfers

/// The state that a download saves in the store, so that any worker can continue its part file.
///
/// ```
/// {"total": 1048576,           bytes of the whole file; absent: not known
///  "boot": "<boot>",           the boot in which all bytes of the part are valid
///  "synced": 268435456,        bytes of the part that survive a loss of power
///  "otherPage": true,          the last answer looked like another page; absent: false
///  "mismatches": 1,            checksums or sizes in a row that were wrong; absent: 0
///  "etag": "\"abc\"",
///  "lastModified": "…", "date": 1763000000,     Last-Modified, and Date in seconds
///  "type": "video/mp4",
///  "counts": [1, 0, 16384]}    ``DownloadCounts``: resumed, restarted, wasted
/// ```
///
/// At most ``maxBytes``: of the members from `etag` on, one that does not fit is left out. Without `etag` and
/// `lastModified` the download starts over, which is slower and still correct.
struct DownloadCheckpoint: Sendable, Equatable {
    static let maxBytes = 300
    /// The maximum bytes of ``boot``; a UUID has 36.
    private static let maxBootBytes = 64
    private static let maxCount: Int64 = 1_000_000_000_000_000

    var total: Int64?
    var boot: String
    var synced: Int64 = 0
    var sawOtherPage = false
    var mismatches = 0
    var validators = DownloadValidators()
    /// The media type in lower case, without parameters.
    var mediaType: String?
    var counts = DownloadCounts()

    init(boot: String) { self.boot = boot }
}

extension DownloadCheckpoint {
    /// - Returns: nil where there is no checkpoint, or this program cannot read it. Then the download starts
    ///   over.
    init?(_ bytes: [UInt8]?) {
        guard let bytes, let value = try? JSONValue(parsing: bytes), let boot = value["boot"]?.string,
            let synced = value["synced"]?.integer, synced >= 0
        else { return nil }
        self.init(boot: boot)
        self.synced = synced
        if let member = value["total"] {
            guard let total = member.integer, total >= 0 else { return nil }
            self.total = total
        }
        sawOtherPage = value["otherPage"]?.bool ?? false
        mismatches = Int(min(max(value["mismatches"]?.integer ?? 0, 0), 9))
        let milliseconds = value["date"]?.integer?.multipliedReportingOverflow(by: 1000)
        validators = DownloadValidators(
            tag: value["etag"]?.string, lastModified: value["lastModified"]?.string,
            date: milliseconds.flatMap { $0.overflow ? nil : Timestamp(milliseconds: $0.partialValue) })
        mediaType = value["type"]?.string
        let counts = value["counts"]?.elements?.map { min(max($0.integer ?? 0, 0), Self.maxCount) } ?? []
        if counts.count == 3 {
            self.counts = DownloadCounts(resumed: counts[0], restarted: counts[1], wasted: counts[2])
        }
    }

    /// At most ``maxBytes`` of JSON.
    var bytes: [UInt8] {
        var members: [JSONValue.Member] = []
        if let total { members.append(.init("total", .integer(total))) }
        members.append(.init("boot", .string(boot.utf8.count <= Self.maxBootBytes ? boot : "")))
        members.append(.init("synced", .integer(synced)))
        if sawOtherPage { members.append(.init("otherPage", true)) }
        if mismatches > 0 { members.append(.init("mismatches", .integer(Int64(mismatches)))) }
        func add(_ more: [JSONValue.Member]) -> Bool {
            guard JSONValue.object(members + more).bytes.count <= Self.maxBytes else { return false }
            members += more
            return true
        }
        let hasTag = validators.tag.map { add([.init("etag", .string($0.text))]) } ?? true
        if let text = validators.lastModified {
            // Without the tag that the server gave, the date must not become a validator.
            let date = hasTag ? validators.date : nil
            let seconds = date.map { JSONValue.Member("date", .integer($0.milliseconds / 1000)) }
            _ = add([.init("lastModified", .string(text))] + (seconds.map { [$0] } ?? []))
        }
        if let mediaType { _ = add([.init("type", .string(mediaType))]) }
        if counts != DownloadCounts() {
            let numbers = [counts.resumed, counts.restarted, counts.wasted].map { JSONValue.integer($0) }
            _ = add([.init("counts", .array(numbers))])
        }
        return JSONValue.object(members).bytes
    }
}

/// The cost of a download, over all its executions.
struct DownloadCounts: Sendable, Equatable {
    /// Executions that went on with the part of an earlier one.
    var resumed: Int64 = 0
    /// How often a part was discarded for a new body.
    var restarted: Int64 = 0
    /// Bytes that were received and discarded, or received twice.
    var wasted: Int64 = 0
}
