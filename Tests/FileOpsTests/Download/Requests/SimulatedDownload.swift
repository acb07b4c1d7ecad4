import Commands
import Glibc
import TestSupport
import Testing

@testable import FileOps

/// A worker that downloads from a ``SimulatedOrigin``: the part file, the store and the target in memory.
struct SimulatedDownload {
    enum Outcome: Equatable {
        case published(isUnverified: Bool)
        case notModified
        /// The execution failed and the command runs again.
        case failed(CommandFailure.Fault)
        /// The connection was lost, or the worker died.
        case interrupted
        case final
    }

    /// Events of the worker at random.
    struct Chaos {
        var random: SeededRandom
        /// The probability that the worker dies after it has emptied the part.
        var death: Double
        /// The probability that a chunk is synced.
        var sync: Double

        mutating func dies() -> Bool { random.chance(death) }
        mutating func syncs() -> Bool { random.chance(sync) }
    }

    var terms: DownloadTerms
    var part: [UInt8] = []
    /// As stored: JSON.
    var checkpoint: [UInt8]?
    var boot = "boot-1"
    /// Bytes of the part that survive a loss of power.
    private var durable = 0
    var target: [UInt8]?
    var chaos: Chaos?
    var reason = ""

    init(_ terms: DownloadTerms = DownloadTerms(url: "https://origin.test/a.mp4")) { self.terms = terms }

    var stored: DownloadCheckpoint? { DownloadCheckpoint(checkpoint) }

    /// Runs executions until one ends the command.
    mutating func run(_ origin: inout SimulatedOrigin, maxExecutions: Int = 12) -> Outcome {
        var outcome = Outcome.interrupted
        for _ in 0..<maxExecutions {
            outcome = execute(&origin)
            switch outcome {
            case .published, .notModified, .final: return outcome
            case .failed, .interrupted: break
            }
        }
        return outcome
    }

    /// Runs one execution.
    mutating func execute(_ origin: inout SimulatedOrigin) -> Outcome {
        let known = DownloadCheckpoint(checkpoint)
        let length = known.map { PartFile.validLength(of: Int64(part.count), ($0.boot, $0.synced), boot: boot) } ?? 0
        part.removeLast(part.count - Int(length))
        var rules = DownloadRequestRules(terms, checkpoint: known, partLength: length, boot: boot)
        var answer = origin.answer(rules.request)
        var action = rules.answer(answer.head)
        for _ in 0..<2000 {
            switch action {
            case .send(let request):
                #expect(request == rules.request)
                answer = origin.answer(request)
                action = rules.answer(answer.head)
            case .replace(let body):
                (part, durable) = ([], 0)
                if chaos?.dies() == true { return .interrupted }
                save(rules.checkpoint)
                guard let next = receive(body, answer, &rules) else { return .interrupted }
                action = next
            case .append(let body):
                save(rules.checkpoint)
                guard let next = receive(body, answer, &rules) else { return .interrupted }
                action = next
            case .complete(let completion):
                #expect(completion.length == Int64(part.count))
                if let wrong = completion.checksums.first(where: { $0 != Self.checksum(part) }) {
                    action = rules.checksumDiffered(wrong)
                    continue
                }
                save(rules.checkpoint)
                target = part
                return .published(isUnverified: completion.isUnverified)
            case .notModified: return .notModified
            case .refused: return refused(answer.head.status)
            case .failed(let failure, let deletesPart):
                reason = failure.reason
                save(rules.checkpoint)
                if deletesPart { (part, durable) = ([], 0) }
                return failure.fault == .final ? .final : .failed(failure.fault)
            }
        }
        Issue.record("an execution sent 2000 requests")
        return .final
    }

    /// Takes a body in chunks; nil where the connection was lost.
    private mutating func receive(
        _ body: DownloadBody, _ answer: SimulatedAnswer, _ rules: inout DownloadRequestRules
    ) -> DownloadAction? {
        var cursor = DownloadBodyCursor(body)
        var rest = answer.body
        while !rest.isEmpty, !cursor.isAtEnd {
            let chunk = rest.prefix(7000)
            rest = rest.dropFirst(7000)
            let step = cursor.take(chunk.count)
            let start = Int(step.offset)
            if step.compared > 0 {
                guard Self.areEqual(part[start..<start + step.compared], chunk.prefix(step.compared)) else {
                    return rules.overlapDiffered()
                }
            }
            part += chunk.dropFirst(step.compared).prefix(step.written)
            if step.exceedsLimit { return rules.limitExceeded() }
            if chaos?.syncs() == true {
                durable = part.count
                rules.markSynced(Int64(durable))
                save(rules.checkpoint)
            }
        }
        guard answer.endsAsMarked || cursor.isAtEnd else { return nil }
        return rules.bodyEnded(at: cursor.position)
    }

    private mutating func save(_ state: DownloadCheckpoint) {
        let bytes = state.bytes
        #expect(bytes.count <= DownloadCheckpoint.maxBytes)
        checkpoint = bytes
    }

    /// As `HTTPVerdict` judges, without 401.
    private mutating func refused(_ status: Int) -> Outcome {
        switch status {
        case 503: return .failed(.link)
        case 408, 425, 429, 500..<600: return .failed(.command)
        default:
            (part, durable) = ([], 0)
            return .final
        }
    }

    /// The machine loses power: of the bytes that were not synced, a random range is undefined afterwards.
    mutating func losePower(_ random: inout SeededRandom) {
        boot = "boot-\(random.number(in: 0..<1_000_000_000))"
        guard durable < part.count else { return }
        let start = random.number(in: durable..<part.count)
        let end = random.number(in: start..<part.count)
        part.replaceSubrange(start...end, with: SimulatedVersion.bytes(end - start + 1, seed: random.next()))
    }

    static func areEqual(_ left: ArraySlice<UInt8>, _ right: ArraySlice<UInt8>) -> Bool {
        guard left.count == right.count else { return false }
        return left.withUnsafeBytes { left in
            right.withUnsafeBytes { right in
                guard let leftStart = left.baseAddress, let rightStart = right.baseAddress else { return true }
                return memcmp(leftStart, rightStart, left.count) == 0
            }
        }
    }

    /// A stand-in for MD5 (FNV-1a, twice): the rules do not hash.
    static func checksum(_ bytes: [UInt8]) -> Checksum? {
        var digest: [UInt8] = []
        for offset in [0xCBF2_9CE4_8422_2325, 0x1234_5678_9ABC_DEF1] as [UInt64] {
            let hash = bytes.withUnsafeBufferPointer { buffer in
                var hash = offset
                for index in 0..<buffer.count { hash = (hash ^ UInt64(buffer[index])) &* 0x0000_0100_0000_01B3 }
                return hash
            }
            withUnsafeBytes(of: hash) { digest += $0 }
        }
        return Checksum(.md5, digest)
    }
}
