internal import Commands
internal import Host

/// Reads the report channel of a program: a JSON object a line. Pure.
///
/// ```
/// {"progress": {"offset": 1, "total": 9}}   total: 0 or absent where it is not known
/// {"values": {"width": 640}}                become part of the result; a later value replaces an earlier one
/// {"retryAfter": 30}                        seconds; a minimum, should the program fail
/// ```
///
/// A line may have several of these members; others are ignored. A program may write for ever: 64 KiB a
/// quarter of a second are read, the rest is skipped and counted, and four reports a second are passed on.
struct ReportReader: Sendable {
    /// The maximum bytes of a line, of all values, and of an interval.
    static let limit = 65_536
    static let maxValues = 256
    static let interval: Duration = .milliseconds(250)
    /// A week.
    static let maxRetryAfter = 604_800.0
    /// The maximum offset and total: integers up to it are exact in JSON (RFC 8259, section 6).
    static let maxProgress: Int64 = 1 << 53

    private(set) var counts = ReportCounts()
    private var report = ProgramReport()
    private var valueSizes: [Int] = []
    private var line: [UInt8] = []
    /// The rest of a line is skipped.
    private var isSkipping = false
    private var intervalEnd = MonotonicTime.zero
    private var intervalBytes = 0
    private var isChanged = false
    private var nextReport = MonotonicTime.zero

    mutating func append(_ bytes: some RandomAccessCollection<UInt8>, now: MonotonicTime) {
        if now >= intervalEnd {
            intervalEnd = now + Self.interval
            intervalBytes = 0
        }
        var rest = bytes[...]
        while !rest.isEmpty {
            let end = rest.firstIndex(of: 0x0A)
            take(rest[..<(end ?? rest.endIndex)])
            guard let end else { return }
            finishLine()
            rest = rest[rest.index(after: end)...]
        }
    }

    /// Ends the last line, which may lack its line feed.
    mutating func finish() { finishLine() }

    /// When ``next(now:isLast:)`` has a report; nil: when more is read.
    var due: MonotonicTime? { isChanged ? nextReport : nil }

    /// The next report to pass on.
    /// - Parameter isLast: does not wait for the interval.
    mutating func next(now: MonotonicTime, isLast: Bool = false) -> ProgramReport? {
        guard isChanged, isLast || now >= nextReport else { return nil }
        isChanged = false
        nextReport = now + Self.interval
        return report
    }

    private mutating func take(_ part: some Collection<UInt8>) {
        intervalBytes += part.count + 1
        if !isSkipping, intervalBytes > Self.limit || line.count + part.count > Self.limit {
            counts.skippedBytes += Int64(line.count)
            line.removeAll(keepingCapacity: true)
            isSkipping = true
        }
        if isSkipping { counts.skippedBytes += Int64(part.count) } else { line.append(contentsOf: part) }
    }

    private mutating func finishLine() {
        defer {
            line.removeAll(keepingCapacity: true)
            isSkipping = false
        }
        guard !isSkipping, line.contains(where: { !Self.isSpace($0) }) else { return }
        guard let value = try? JSONValue(parsing: line), apply(value) else {
            counts.garbageLines += 1
            return
        }
        isChanged = true
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }

    /// - Returns: false where the value is not a report, and nothing of it was applied.
    private mutating func apply(_ value: JSONValue) -> Bool {
        var changed = report
        if let progress = value["progress"] {
            guard let offset = progress["offset"]?.wholeNumber, (0...Self.maxProgress).contains(offset) else {
                return false
            }
            let total = progress["total"]?.wholeNumber ?? 0
            guard (0...Self.maxProgress).contains(total) else { return false }
            changed.progress = ProgramReport.Progress(offset: offset, total: total)
        }
        if let wait = value["retryAfter"] {
            guard let seconds = wait.double, (0...Self.maxRetryAfter).contains(seconds) else { return false }
            changed.retryAfter = .milliseconds(Int64((seconds * 1000).rounded(.up)))
        }
        let values = value["values"]
        let members = values?.members ?? []
        if values != nil, values?.members == nil { return false }
        guard values != nil || value["progress"] != nil || value["retryAfter"] != nil else { return false }
        report = changed
        for member in members { set(member) }
        return true
    }

    private mutating func set(_ member: JSONValue.Member) {
        var writer = JSONWriter()
        writer.value(member.value)
        let size = writer.bytes.count + member.name.utf8.count
        let index = report.values.firstIndex { $0.name.hasSameBytes(as: member.name) }
        let others = valueSizes.reduce(0, +) - (index.map { valueSizes[$0] } ?? 0)
        guard others + size <= Self.limit, index != nil || report.values.count < Self.maxValues else {
            counts.skippedValues += 1
            return
        }
        if let index {
            report.values[index] = member
            valueSizes[index] = size
        } else {
            report.values.append(member)
            valueSizes.append(size)
        }
    }
}

/// The state that a program has reported so far. A later one replaces an earlier one.
struct ProgramReport: Sendable, Equatable {
    struct Progress: Sendable, Equatable {
        var offset: Int64
        /// 0: not known.
        var total: Int64
    }

    var progress: Progress?
    /// All values by their names, in the order of their first report.
    var values: [JSONValue.Member] = []
    /// The minimum wait before the next execution, should this one fail.
    var retryAfter: Duration?
}

/// The part of the report channel that had no effect.
struct ReportCounts: Sendable, Equatable {
    /// Lines that are not a report.
    var garbageLines = 0
    /// Bytes beyond the limits of ``ReportReader``.
    var skippedBytes: Int64 = 0
    /// Values beyond its limits.
    var skippedValues = 0
}
