import Commands
import Foundation
import TestSupport
import Testing

struct TimeZoneDatabaseTests {
    private let directory: TemporaryDirectory
    private let database: TimeZoneDatabase

    init() throws {
        directory = try TemporaryDirectory("zones")
        database = TimeZoneDatabase(directory: directory.path)
    }

    private func error(_ name: String, in database: TimeZoneDatabase? = nil) -> TimeZoneError? {
        do {
            _ = try (database ?? self.database).zone(named: name)
            return nil
        } catch {
            return error
        }
    }

    @Test func `UTC needs no file`() throws {
        defer { directory.remove() }
        #expect(try database.zone(named: "UTC") == .utc)
        #expect(try database.zone(named: "Etc/UTC").offset(at: 1_790_000_000) == 0)
        #expect(TimeZoneOffsets.utc.segment(at: 0).end == .max)
    }

    @Test(arguments: [
        "", "../etc/passwd", "Europe/../Europe/Berlin", "/etc/localtime", "Europe//Berlin", "Europe/",
        "Europe/Berlin\0",
        "Europe/Bérlin", "tzdata.zi", ".", String(repeating: "a", count: 129), "Europe\\Berlin", "a b",
    ])
    func `a name that could lead elsewhere is refused without a look at the files`(_ name: String) {
        defer { directory.remove() }
        #expect(error(name)?.reason == .malformedName)
    }

    @Test func `a missing zone and a missing directory say what to do`() {
        defer { directory.remove() }
        let missing = error("Europe/Pariss")
        #expect(missing?.reason == .missing)
        #expect(
            missing?.description.hasPrefix(
                "cannot find the time zone “Europe/Pariss” in \(directory.path): write for example “Europe/Berlin”, or")
                == true)
        let nothing = error("Europe/Berlin", in: TimeZoneDatabase(directory: "\(directory.path)/none"))
        #expect(nothing?.reason == .missing)
        #expect(
            nothing?.description.hasSuffix(
                "the directory does not exist; install tzdata, or name its directory in TZDIR") == true)
    }

    @Test func `a file that is not a zone is refused`() throws {
        defer { directory.remove() }
        let garbage = Array("not a zone, although it is long enough for the head of one".utf8)
        let whole = TimeZoneBytes(rule: "CET-1CEST,M3.5.0,M10.5.0/3").bytes
        let files: [(String, [UInt8], String)] = [
            ("garbage", garbage, "it is not a time zone file (TZif)"),
            ("empty", [], "it is not a time zone file (TZif)"),
            ("old", TimeZoneBytes(rule: "", version: "\0").bytes, "version 1 of the format ends in 2037"),
            ("leaps", TimeZoneBytes(rule: "", leapSeconds: 2).bytes, "it counts leap seconds"),
            ("rule", TimeZoneBytes(rule: "EST5EDT").bytes, "cannot read its rule “EST5EDT”"),
            ("far", TimeZoneBytes(rule: "", offset: 100_000).bytes, "an offset of 100000 s from UTC is out of range"),
            ("cut", Array(whole.dropLast()), "its last line is missing"),
        ]
        for (name, bytes, problem) in files {
            _ = try directory.file(name, bytes)
            #expect(error(name)?.reason == .unusable)
            #expect(
                error(name)?.description.contains("/\(name)”: \(problem)") == true, "\(error(name)?.description ?? "")")
        }
        _ = try directory.makeDirectory("Europe")
        #expect(error("Europe")?.description.contains("it is not a file") == true)
        #expect(error("garbage/zone")?.reason == .missing)
        mkfifo("\(directory.path)/pipe", 0o600)
        #expect(error("pipe")?.description.contains("it is not a file") == true)
    }

    @Test func `a zone is read again when its file is replaced`() throws {
        defer { directory.remove() }
        let path = try directory.file("Zone", TimeZoneBytes(rule: "A-1").bytes)
        let first = try database.zone(named: "Zone")
        #expect(first.offset(at: 0) == 3600)
        #expect(try database.zone(named: "Zone") == first)
        let replacement = try directory.file("new", TimeZoneBytes(rule: "A-2").bytes)
        #expect(rename(replacement, path) == 0)
        let second = try database.zone(named: "Zone")
        #expect(second.offset(at: 0) == 7200 && second != first)
        try FileManager.default.removeItem(atPath: path)
        #expect(error("Zone")?.reason == .missing)
    }

    @Test func `no file crashes the reader or the search`() throws {
        defer { directory.remove() }
        var random = SeededRandom.announced("zone files")
        let names = MachineZones.names.shuffled(using: &random).prefix(60)
        let samples =
            names.compactMap {
                try? Array(Data(contentsOf: URL(fileURLWithPath: "\(TimeZoneDatabase.system.directory)/\($0)")))
            }
            + [TimeZoneBytes(rule: "CET-1CEST,M3.5.0,M10.5.0/3").bytes, TimeZoneBytes(rule: "A0B-1,365/0,0/24").bytes]
        let expressions = try ["30 2 * * *", "*/15 * * * *", "0 0 29 2 *"].map { try CronExpression(parsing: $0) }
        var accepted = 0
        for index in 0..<3000 {
            var bytes = samples[random.number(in: 0..<samples.count)]
            for _ in 0..<random.number(in: 1..<5) where !bytes.isEmpty {
                let position = random.number(in: 0..<bytes.count)
                switch random.number(in: 0..<8) {
                case 0: bytes.removeSubrange(position...)
                case 1: bytes.insert(UInt8(random.number(in: 0..<256)), at: position)
                default: bytes[position] = UInt8(random.number(in: 0..<256))
                }
            }
            _ = try directory.file("Zone", bytes + (index % 2 == 0 ? [] : [0]))
            guard let zone = try? TimeZoneDatabase(directory: directory.path).zone(named: "Zone") else { continue }
            accepted += 1
            for expression in expressions {
                for milliseconds in [Int64.min, .max, 0, Int64(random.number(in: 0..<20_000_000_000)) * 1000] {
                    let time = Timestamp(milliseconds: milliseconds)
                    if let next = expression.next(after: time, in: zone) { #expect(next > time) }
                    if let previous = expression.previous(atOrBefore: time, in: zone) { #expect(previous <= time) }
                }
            }
        }
        print("zone files: \(accepted) of 3,000 damaged files accepted")
    }
}
