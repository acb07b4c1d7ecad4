import Commands
import Foundation
import TestSupport
import Testing

struct TimeZoneTests {
    /// The later years follow the rule at the end of a zone, which the other tests read.
    @Test(
        .enabled(if: isAvailable(program("zdump") != nil), "zdump is not installed; install libc-bin"),
        .enabled(if: MachineZones.isInstalled, "tzdata is not installed; deploy/prepare test installs it"))
    func `every zone has the offsets of zdump from 1970 to 2012`() throws {
        try compareWithZdump(MachineZones.names.filter { $0 != "Factory" }, before: 2012)
    }

    @Test(
        .enabled(if: program("zdump") != nil, "zdump is not installed; install libc-bin"),
        .enabled(if: MachineZones.isInstalled, "tzdata is not installed; deploy/prepare test installs it"))
    func `a sample of zones has the offsets of zdump from 1970 to 2100`() throws {
        var random = SeededRandom.announced("sample of zones")
        try compareWithZdump(Array(MachineZones.names.shuffled(using: &random).prefix(40)), before: 2100)
    }

    /// Compares the offset before and at each change, and the number of changes of the offset.
    private func compareWithZdump(_ names: [String], before year: Int64) throws {
        var zones: [String: TimeZoneOffsets] = [:]
        for name in names { zones[name] = try? TimeZoneDatabase.system.zone(named: name) }
        var changes: [String: Int] = [:]
        var (lines, lastOffset): (Int, [String: Int64]) = (0, [:])
        // One expectation for all lines: each costs as much as several lines.
        var different: [Substring] = []
        for line in try zdump(zones.keys.sorted(), before: year) {
            // Europe/Berlin  Sun Mar 29 01:00:00 2026 UT = Sun Mar 29 03:00:00 2026 CEST isdst=1 gmtoff=7200
            let words = line.split(separator: " ")
            let name = String(words[0])
            guard words.count == 16, words[6] == "UT", let zone = zones[name],
                let offset = words[15].split(separator: "=").last.flatMap({ Int64($0) }),
                let instant = instant(words)
            else { continue }
            lines += 1
            if zone.offset(at: instant) != offset { different.append(line) }
            if let last = lastOffset[name], last != offset { changes[name, default: 0] += 1 }
            lastOffset[name] = offset
        }
        #expect(different.isEmpty, "\(different.count) lines, the first of them \(different.prefix(5))")
        let (first, end) = (Int64(0), CivilDate.days(year: year, month: 1, day: 1) * 86_400)
        for (name, zone) in zones {
            #expect(zone.changes(from: first, through: end - 1).count == changes[name, default: 0], "\(name)")
        }
        print("zdump: \(zones.count) zones, \(lines) lines, \(changes.values.reduce(0, +)) changes of the offset")
        #expect(!zones.isEmpty)
    }

    private func zdump(_ names: [String], before year: Int64) throws -> [Substring] {
        let directory = try TemporaryDirectory("zdump")
        defer { directory.remove() }
        let output = try directory.file("out", [])
        let process = Process()
        process.executableURL = URL(fileURLWithPath: try #require(program("zdump")))
        process.arguments = ["-v", "-c", "1970,\(year)"] + names
        process.standardOutput = FileHandle(forWritingAtPath: output)
        try process.run()
        process.waitUntilExit()
        return try String(contentsOfFile: output, encoding: .utf8).split(separator: "\n")
    }

    private func instant(_ words: [Substring]) -> Int64? {
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        let time = words[4].split(separator: ":").compactMap { Int64($0) }
        guard let month = months.firstIndex(of: String(words[2])), let day = Int64(words[3]),
            let year = Int64(words[5]),
            time.count == 3
        else { return nil }
        return CivilDate.days(year: year, month: Int64(month) + 1, day: day) * 86_400 + time[0] * 3600 + time[1] * 60
            + time[2]
    }

    @Test func `a rule has the offsets of glibc`() throws {
        var random = SeededRandom.announced("rules")
        let directory = try TemporaryDirectory("rules")
        defer { directory.remove() }
        let known = [
            "IST-1GMT0,M10.5.0,M3.5.0/1", "<-02>2<-01>,M3.5.0/-1,M10.5.0/0", "EET-2EEST,M3.4.4/50,M10.4.4/50",
            "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", "AAA5BBB,J60/0,J300/24", "UTC0", "<-1230>+12:30:15",
        ]
        for index in 0..<300 {
            let rule = index < known.count ? known[index] : rule(&random)
            _ = try directory.file("Zone\(index)", TimeZoneBytes(rule: rule).bytes)
            let zone = try TimeZoneDatabase(directory: directory.path).zone(named: "Zone\(index)")
            let instants = (0..<200).map { _ in Int64(random.number(in: 0..<16_725_225_600)) }
            let edges = instants.flatMap { instant -> [Int64] in
                let segment = zone.segment(at: instant)
                return [instant, segment.start, segment.start &- 1, segment.end &- 1, segment.end]
            }.filter { (Int64(0)..<32_503_680_000).contains($0) }
            let theirs = LocalClock.withZone(rule) { offset in edges.map(offset) }
            let different = zip(edges, theirs).first { zone.offset(at: $0) != $1 }
            #expect(different == nil, "“\(rule)” at \(different.map { "\($0)" } ?? "")")
        }
    }

    @Test func `daylight saving time of the whole year is one segment`() throws {
        let directory = try TemporaryDirectory("rules")
        defer { directory.remove() }
        // The example of RFC 9636, section 3.3.2. glibc 2.36 shows standard time for an hour of each year.
        _ = try directory.file("Zone", TimeZoneBytes(rule: "XXX3EDT4,0/0,J365/23").bytes)
        let zone = try TimeZoneDatabase(directory: directory.path).zone(named: "Zone")
        let segment = zone.segment(at: 978_317_999)
        #expect(segment.offset == -4 * 3600 && segment.start < -60_000_000_000 && segment.end == .max)
    }

    @Test func `a rule holds for every year`() throws {
        let directory = try TemporaryDirectory("rules")
        defer { directory.remove() }
        _ = try directory.file("Zone", TimeZoneBytes(rule: "CET-1CEST,M3.5.0,M10.5.0/3").bytes)
        let zone = try TimeZoneDatabase(directory: directory.path).zone(named: "Zone")
        for year in stride(from: Int64(2), through: 300_000, by: 7) {
            let summer = zone.segment(at: CivilDate.days(year: year, month: 7, day: 1) * 86_400)
            let start = CivilDate.date(days: summer.start.quotientAndRemainder(dividingBy: 86_400).quotient)
            let winter = zone.segment(at: summer.start - 1)
            #expect(summer.offset == 7200 && summer.previousOffset == 3600 && winter.offset == 3600)
            #expect(winter.end == summer.start && zone.segment(at: summer.end).start == summer.end)
            #expect(start.year == year && start.month == 3 && start.day >= 25 || summer.start < 0, "\(start)")
        }
    }

    private func rule(_ random: inout SeededRandom) -> String {
        let standard = random.number(in: -12..<13)
        func time(_ random: inout SeededRandom) -> String {
            "/\(random.number(in: -24..<48)):\(random.number(in: 10..<60))"
        }
        func date(_ month: Int, _ random: inout SeededRandom) -> String {
            switch random.number(in: 0..<4) {
            case 0: "J\(month * 30 + random.number(in: -20..<5))"
            case 1: "\(month * 30 + random.number(in: -20..<5))"
            default: "M\(month).\(random.number(in: 1..<6)).\(random.number(in: 0..<7))"
            }
        }
        // Dates that lie apart, in both orders.
        let (spring, autumn) = (date(random.number(in: 2..<6), &random), date(random.number(in: 8..<12), &random))
        let daylight = random.chance(0.5) ? "\(standard - 1)" : random.chance(0.5) ? "" : "\(standard + 1):30"
        let (first, second) = random.chance(0.5) ? (spring, autumn) : (autumn, spring)
        return "STD\(standard)DST\(daylight),\(first)\(time(&random)),\(second)\(time(&random))"
    }
}
