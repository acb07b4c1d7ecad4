import Commands
import TestSupport
import Testing

@testable import FileOps

/// Downloads from an origin whose file, validators and faults change at random, by a worker that dies and
/// loses power.
///
/// A change that keeps its tag and date, or is not told by them, cannot be detected in bytes that are not
/// compared. So without a checksum such a change replaces all bytes; with one it may be two bytes.
@Suite struct DownloadFuzzTests {
    private static let maxExecutions = 40
    /// Versions of the last minute may have the same date.
    private static let youngDate = "Fri, 21 Nov 2025 09:59:30 GMT"

    private struct Tally {
        var (downloads, published, unverified, finals, unfinished) = (0, 0, 0, 0, 0)
        var (resumed, restarted) = (Int64(0), Int64(0))
    }

    @Test func `no short sequence of faults publishes a mixed file`() {
        let tally = Self.run("short download fuzz", exchanges: 1000)
        #expect(tally.published > 50)
    }

    @Test(.enabled(if: runsSlowTests, "slow")) func `no sequence of faults publishes a mixed file`() {
        let tally = Self.run("download fuzz", exchanges: 3000)
        #expect(tally.published > tally.downloads / 3)
        #expect(tally.resumed > 90)
        #expect(tally.restarted > 150)
    }

    private static func run(_ name: String, exchanges total: Int) -> Tally {
        var random = SeededRandom.announced(name)
        var tally = Tally()
        var exchanges = 0
        while exchanges < total {
            tally.downloads += 1
            exchanges += download(&random, &tally)
        }
        print("\(name): \(exchanges) exchanges, \(tally)")
        return tally
    }

    /// Runs one download. Returns the number of exchanges.
    private static func download(_ random: inout SeededRandom, _ tally: inout Tally) -> Int {
        var origin = SimulatedOrigin(version(&random))
        var download = SimulatedDownload()
        let hasChecksum = random.chance(0.3)
        if hasChecksum { download.terms.checksum = SimulatedDownload.checksum(origin.version.bytes) }
        let hasSize = random.chance(0.2)
        if hasSize { download.terms.size = Int64(origin.version.bytes.count) }
        download.chaos = .init(random: SeededRandom(seed: random.next()), death: 0.03, sync: 0.3)
        var versions = [origin.version]
        for _ in 0..<maxExecutions {
            disturb(&origin, &versions, hasChecksum: hasChecksum, &random)
            if random.chance(0.1) { download.losePower(&random) }
            switch download.execute(&origin) {
            case .published(let isUnverified):
                tally.published += 1
                if isUnverified { tally.unverified += 1 }
                tally.resumed += download.stored?.counts.resumed ?? 0
                tally.restarted += download.stored?.counts.restarted ?? 0
                check(download, versions, isUnverified: isUnverified)
                return origin.requests.count
            case .final:
                tally.finals += 1
                #expect(download.target == nil)
                return origin.requests.count
            case .notModified: Issue.record("no condition was sent")
            case .failed, .interrupted: break
            }
        }
        tally.unfinished += 1
        return origin.requests.count
    }

    /// The published file is a version that the origin had, or its login page; without a length it may be the
    /// start of one.
    private static func check(_ download: SimulatedDownload, _ versions: [SimulatedVersion], isUnverified: Bool) {
        let target = download.target ?? []
        let files = versions.map(\.bytes) + [SimulatedOrigin.page]
        let isWhole = files.contains { SimulatedDownload.areEqual($0[...], target[...]) }
        let isStart = files.contains { SimulatedDownload.areEqual($0.prefix(target.count), target[...]) }
        #expect(isWhole || isUnverified && isStart, "a mixed file of \(target.count) bytes was published")
        if let checksum = download.terms.checksum { #expect(SimulatedDownload.checksum(target) == checksum) }
        if let size = download.terms.size { #expect(Int64(target.count) == size) }
    }

    private static func version(_ random: inout SeededRandom) -> SimulatedVersion {
        let small = random.chance(0.1) ? [0, 1, 16_384, 16_385].randomElement(using: &random) : nil
        let count = small ?? random.number(in: 30_000..<120_000)
        var version = SimulatedVersion(bytes: SimulatedVersion.bytes(count, seed: random.next()))
        switch random.number(in: 0..<9) {
        case 0: break
        case 1: version.tag = "W/\"\(random.next())\""
        case 2: version.lastModified = SimulatedVersion.oldDate
        case 3: version.lastModified = youngDate
        default:
            version.tag = "\"\(random.next())\""
            version.lastModified = SimulatedVersion.oldDate
        }
        return version
    }

    /// Changes the file and the faults.
    private static func disturb(
        _ origin: inout SimulatedOrigin, _ versions: inout [SimulatedVersion], hasChecksum: Bool,
        _ random: inout SeededRandom
    ) {
        var faults = SimulatedFaults()
        if versions.count < 5, random.chance(0.2) {
            change(&origin.version, number: versions.count, hasChecksum: hasChecksum, &random)
            versions.append(origin.version)
        } else if random.chance(0.05), let earlier = versions.randomElement(using: &random) {
            // Another node of the same server.
            origin.version = earlier
        }
        faults.ignoresRange = random.chance(0.05)
        faults.ignoresIfRange = random.chance(0.35)
        faults.refusesRanges = random.chance(0.03)
        faults.omitsLengthOf416 = random.chance(0.5)
        if random.chance(0.1) { faults.startsEarlier = [4096, .max, -100, 1].randomElement(using: &random) ?? 0 }
        if random.chance(0.15) { faults.pieceLength = random.number(in: 5000..<50_000) }
        if random.chance(0.1) {
            faults.rangeField =
                [.missing, .star, .malformed, .multipart, .otherTotal].randomElement(using: &random) ?? .correct
        }
        // A part that calls itself the whole file cannot be told from it.
        if faults.rangeField != .missing, random.chance(0.1) { faults.rangeStatus = 200 }
        if random.chance(0.25) { faults.delimiting = random.chance(0.6) ? .chunked : .close }
        faults.shiftsBody = hasChecksum && random.chance(0.1)
        // A date that is neither compared nor sent again tells nothing.
        let isHonest = !faults.ignoresIfRange || origin.version.tag != nil || hasChecksum
        faults.omitsValidators = isHonest && random.chance(0.05)
        if random.chance(0.75) { faults.cutsAt = random.number(in: 0..<max(origin.version.bytes.count / 2, 1)) }
        origin.faults = faults
        origin.nextStatuses = random.chance(0.05) ? [[200, 503, 500, 429].randomElement(using: &random) ?? 503] : []
        if random.chance(0.005) { origin.nextStatuses = [404] }
    }

    /// - Parameter number: 1…9, another one for each version.
    private static func change(
        _ version: inout SimulatedVersion, number: Int, hasChecksum: Bool, _ random: inout SeededRandom
    ) {
        let keepsValidators = random.chance(0.3)
        if keepsValidators ? hasChecksum && random.chance(0.5) : random.chance(0.7), !version.bytes.isEmpty {
            // Two bytes, so that the start of one version and the end of another are not a version.
            let tenth = version.bytes.count / 10
            version.bytes[random.number(in: 0..<tenth + 1)] ^= 1
            version.bytes[version.bytes.count - 1 - random.number(in: 0..<tenth + 1)] ^= 2
        } else {
            let count = random.chance(0.5) ? version.bytes.count : random.number(in: 0..<60_000)
            version.bytes = SimulatedVersion.bytes(count, seed: random.next())
        }
        guard !keepsValidators else { return }
        if let tag = version.tag { version.tag = (tag.hasPrefix("W/") ? "W/" : "") + "\"\(random.next())\"" }
        if version.lastModified != nil, version.lastModified != youngDate {
            version.lastModified = "Fri, 14 Nov 2025 0\(number):00:0\(random.number(in: 1..<10)) GMT"
        }
    }
}
