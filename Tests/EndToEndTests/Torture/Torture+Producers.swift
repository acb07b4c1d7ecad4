import Commands
import Foundation
import Synchronization
import TestSupport

/// Producers that submit commands and die, and operators that cancel and retry them.
extension Torture {
    private enum Submission {
        case noops, puts, posts, copies, ordered, flow, batch
        case other(OtherOperation)

        /// Each is drawn before the deck is shuffled anew, so that no run lacks one.
        static let deck =
            [.noops, .puts, .posts, .copies, .ordered, .flow, .noops, .puts, .posts, .copies, .ordered, .flow]
            + [.batch, .batch] + OtherOperation.allCases.map { Submission.other($0) }
    }

    func produce(_ count: Int) async throws {
        var random = SeededRandom(seed: seed ^ 0xA5A5)
        var deck: [Submission] = []
        var made = 0
        // Submit at least half of the commands, also where a busy machine needs longer for them than for the faults.
        while made < count, isUnderFire.load(ordering: .relaxed) || ledger.entries.count < count / 2 {
            let bulk = random.number(in: 10..<60)
            let first = made
            made += bulk
            // Producers die too, some of them in the middle of a bulk submit.
            let death = random.chance(0.1) ? Duration.milliseconds(Int64(random.number(in: 5..<80))) : nil
            let quality = QualityOfService.allCases[random.number(in: 0..<5)].name
            if deck.isEmpty { deck = Submission.deck.shuffled(using: &random) }
            switch deck.removeLast() {
            case .noops:
                // A deadline is beyond what the clock may be ahead, so that only a jump can let it pass.
                let deadline = (Timestamp.now + clock.offset + Self.age).description
                let lines = (0..<bulk).map { index in
                    let limit = index % 3 == 0 ? #","limit":"\#(TortureChecker.limit)""# : ""
                    let until = index % 4 == 0 ? #","deadline":"\#(deadline)""# : ""
                    let payload = #"{"milliseconds":\#(random.number(in: 0..<40))}"#
                    return #"{"payload":\#(payload),"qos":"\#(quality)"\#(limit)\#(until)}"#
                }
                try await submit(["noop", "--payload", "-"], lines, number: made, killedAfter: death) { _ in .noop }
            case .puts:
                let chosen = (0..<bulk).map { _ in sources[random.number(in: 0..<sources.count)] }
                let lines = chosen.enumerated().map { index, source in
                    upload(source.path, "\(receiver.origin)/put/\(first + index)", "PUT", quality)
                }
                try await submit(["upload", "--payload", "-"], lines, number: made, killedAfter: death) { index in
                    .put(path: "/put/\(first + index)", sha256: chosen[index].sha256)
                }
            case .posts:
                let lines = (0..<bulk).map { index in
                    upload(
                        sources[index % sources.count].path, "\(receiver.origin)/post/\(first + index)", "POST", quality
                    )
                }
                try await submit(["upload", "--payload", "-"], lines, number: made, killedAfter: death) {
                    .post(path: "/post/\(first + $0)")
                }
            case .copies:
                let chosen = (0..<bulk).map { _ in sources[random.number(in: 0..<sources.count)] }
                let lines = chosen.enumerated().map { index, source in
                    upload(source.path, "file://\(copies)/\(first + index)", "PUT", quality)
                }
                try await submit(["upload", "--payload", "-"], lines, number: made, killedAfter: death) { index in
                    .copy(path: "\(self.copies)/\(first + index)", sha256: chosen[index].sha256)
                }
            case .ordered:
                // A few keys, so that commands of several submissions meet.
                let lines = (0..<bulk).map { index in
                    #"{"payload":{"milliseconds":\#(index % 5)},"qos":"\#(quality)","orderingKey":"key \#(index % 3)"}"#
                }
                try await submit(["noop", "--payload", "-"], lines, number: made, killedAfter: death) { _ in .noop }
            case .flow:
                try await submit(
                    ["flow", "submit", "-"], [Self.flow(nodes: bulk, &random)], number: made, killedAfter: death
                ) { _ in .noop }
            case .batch:
                let lines = (0..<bulk).map { #"{"payload":{"milliseconds":\#($0 % 30)},"qos":"\#(quality)"}"# }
                try await submit(Self.batchArguments, lines, number: made, killedAfter: death) { _ in
                    .batch(members: bulk)
                }
            case .other(let operation):
                let commands = (0..<min(bulk, operation.maxCount)).map { command(operation, first + $0, quality) }
                try await submit(
                    [operation.type, "--payload", "-"], commands.map(\.line), number: made, killedAfter: death
                ) { commands[$0].kind }
            }
        }
    }

    /// A flow of no-ops, each of which waits for up to three earlier ones; some flows share an ordering key.
    private static func flow(nodes: Int, _ random: inout SeededRandom) -> String {
        let texts = (0..<nodes).map { number in
            let parents = number == 0 ? [] : (0..<random.number(in: 0..<4)).map { _ in random.number(in: 0..<number) }
            let after = Set(parents).sorted().map { #""n\#($0)""# }.joined(separator: ",")
            return
                #""n\#(number)":{"type":"noop","payload":{"milliseconds":\#(random.number(in: 0..<20))},"after":[\#(after)]}"#
        }
        let key = random.chance(0.3) ? #""orderingKey":"flows","# : ""
        return #"{\#(key)"nodes":{\#(texts.joined(separator: ","))},"then":{"end":{"type":"noop"}}}"#
    }

    private func upload(_ file: String, _ url: String, _ method: String, _ quality: String) -> String {
        #"{"payload":{"file":"\#(file)","to":"\#(url)","method":"\#(method)"},"qos":"\#(quality)"}"#
    }

    /// - Parameter number: a number that no other submission has.
    @discardableResult
    func submit(
        _ arguments: [String], _ lines: [String]?, number: Int, killedAfter: Duration? = nil,
        _ kind: (Int) -> TortureLedger.Entry.Kind
    ) async throws -> [CommandID] {
        try await gate.pass {
            let child = try installation.start(
                program: "\(Installation.bin)/sluice",
                ["flow", "batch"].contains(arguments.first) ? arguments : ["submit"] + arguments,
                environment: environment(drops: 0.2, process: 1_000_000 + number),
                input: lines.map { Array($0.joined(separator: "\n").utf8) })
            if let killedAfter {
                try await Task.sleep(for: killedAfter)
                child.signal(SIGKILL)
            }
            let finished = try await installation.finished(child)
            // Exit code 75 (try again) is allowed. The UUIDs that were printed before it, or before a kill, are
            // acknowledged.
            if finished.code != 0, finished.code != 75, finished.ending != .signalled(SIGKILL) || killedAfter == nil {
                ledger.unexpected("submit ended with \(finished.ending): \(finished.errors)")
            }
            for (index, id) in finished.ids.enumerated() { ledger.acknowledged(id, kind(index)) }
            return finished.ids
        }
    }

    /// How long a unique key is held, and how long after the submit a deadline comes. A coordinator that was not there notices
    /// a step of more than a day.
    private static let age = Duration.seconds(30 * 3600)

    /// Submits the same unique keys again and again. A jump of the clock frees none.
    func holdUniqueKeys() async throws {
        var holders: [Int: CommandID] = [:]
        var number = 0
        while isUnderFire.load(ordering: .relaxed) {
            try await Task.sleep(for: .milliseconds(400))
            number += 1
            let key = number % 4
            let restoresBefore = restores.withLock { $0.count }
            let ids = try await submit(
                ["noop", "--unique-key", "age \(key)", "--unique-for", "30h"], nil, number: 4_000_000 + number
            ) { _ in .noop }
            // A restore may have taken the holder back, and an unreported step may have freed the key.
            let isSure = agesHold.load(ordering: .relaxed) && restores.withLock { $0.count } == restoresBefore
            guard let id = ids.first, isSure else {
                holders = [:]
                continue
            }
            if let holder = holders[key], holder != id {
                let settings = clock.settings.suffix(3).map { "\($0.offset) since \($0.since)" }
                ledger.unexpected("the unique key of \(holder) is free after a jump, and \(id) has it: \(settings)")
            }
            holders[key] = id
        }
    }

    /// Cancels and retries some of the acknowledged commands, at most one each 150 ms.
    func cancelAndRetry() async throws {
        var random = SeededRandom(seed: seed ^ 0x5A5A)
        var number = 0
        while isUnderFire.load(ordering: .relaxed) {
            try await Task.sleep(for: .milliseconds(150))
            number += 1
            let order = ledger.order
            guard order.count > 50 else { continue }
            // A recent command has probably not ended yet.
            let id = order[random.number(in: order.count - 50..<order.count)]
            if ledger.entries[id]?.kind == .poison { continue }
            if random.chance(0.7) {
                ledger.willCancel(id)
                if try await !request("cancel", id, number) { ledger.wasNotCancelled(id) }
            } else {
                let cancelled = ledger.entries.filter { $0.value.cancelled > 0 }.keys.sorted()
                guard !cancelled.isEmpty else { continue }
                let again = cancelled[random.number(in: 0..<cancelled.count)]
                ledger.willRetry(again)
                if try await !request("retry", again, number) { ledger.wasNotRetried(again) }
            }
        }
    }

    /// Runs `sluice cancel` or `sluice retry`.
    /// - Parameter number: a number that no other request has.
    /// - Returns: false when the request certainly had no effect (exit code 1: the status does not allow it).
    private func request(_ verb: String, _ id: CommandID, _ number: Int) async throws -> Bool {
        // The request itself is in the store; only its hint is dropped.
        let finished = try await gate.pass {
            try await installation.sluice(
                verb, "\(id)", environment: environment(drops: 0.2, process: 2_000_000 + number))
        }
        // A restore may have removed the command (66).
        if ![0, 1, 75].contains(finished.code), finished.code != 66 || ledger.entries[id]?.mayBeLost != true {
            ledger.unexpected("\(verb) ended with \(finished.ending): \(finished.errors)")
        }
        return ![1, 66].contains(finished.code)
    }
}
