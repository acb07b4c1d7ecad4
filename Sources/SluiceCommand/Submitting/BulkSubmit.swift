internal import Commands
internal import Console
internal import Glibc
internal import Host
internal import Operations
internal import Queue
internal import Synchronization

/// Submits JSON lines from standard input. One thread reads and checks while another commits and prints.
final class BulkSubmit: Sendable {
    private struct Input {
        var reader: LineReader
        /// Of the last line, from 1.
        var number = 0
        var isOver = false
        /// Of a line that cannot be used.
        var problem: ExitError?
    }

    private struct Batch {
        var drafts: [CommandDraft] = []
        /// The line of each draft, from 1.
        var lines: [Int] = []
    }

    private let client: SluiceClient
    private let type: String
    private let options: SubmitOptions
    private let registry: OperationRegistry
    private let asJSON: Bool
    private let keepsIDs: Bool
    /// Prints no UUIDs, and shows how far it is on any terminal.
    private let isQuiet: Bool

    private let input: Mutex<Input>
    /// For a terminal that does not show the UUIDs themselves.
    private let progress = Mutex(BulkProgress(now: .now))
    /// Commands of the accepted lines, how many of these existed already under their unique keys, and the ids, where the
    /// caller waits for them.
    private let totals = Mutex((accepted: 0, existing: 0, ids: [CommandID]()))
    /// The refusal of a draft, which ends the reading.
    private let refusal = Mutex<ExitError?>(nil)

    private static let batchSize = 4096
    /// Batches that wait for their commit or are committed, while another is read.
    private static let maxInFlight = 2
    /// Bytes of drafts after which a batch is full.
    private static let batchBytes = 8 << 20
    /// Bytes of a line. JSON text may be longer than the form that is stored.
    private static let lineLimit = 4 * Command.payloadLimit

    init(
        client: SluiceClient, type: String, options: SubmitOptions, registry: OperationRegistry, asJSON: Bool,
        keepsIDs: Bool, isQuiet: Bool = false
    ) {
        self.client = client
        self.type = type
        self.options = options
        self.registry = registry
        self.asJSON = asJSON
        self.keepsIDs = keepsIDs
        self.isQuiet = isQuiet
        input = Mutex(Input(reader: LineReader(descriptor: StandardInput.descriptor, limit: Self.lineLimit)))
    }

    /// - Returns: the ids, where the caller waits for them.
    /// - Throws: ``ExitError`` with the number of the line. The ids of accepted lines have been printed then.
    func run() async throws -> [CommandID] {
        let (reading, committing) = (SerialThread(named: "sluice-read"), SerialThread(named: "sluice-commit"))
        let (commits, committed) = AsyncStream<Void>.makeStream()
        var ends = commits.makeAsyncIterator()
        var inFlight = 0
        while let batch = await reading.run(CommandLineRun.bound { self.readBatch() }) {
            if inFlight == Self.maxInFlight { await ends.next() } else { inFlight += 1 }
            committing.perform(
                CommandLineRun.bound { [self] in
                    if refusal.withLock({ $0 == nil }) { commit(batch) }
                    committed.yield()
                })
        }
        await reading.close()
        await committing.close()
        Diagnostics.clearStatus()
        Output.flush()
        let (accepted, existing, ids) = totals.withLock { $0 }
        if existing > 0, !asJSON {
            Diagnostics.say("existing: \(existing) of \(accepted) commands; --json tells which")
        }
        if let exitError = refusal.withLock({ $0 }) ?? input.withLock({ $0.problem }) { throw exitError }
        return ids
    }

    // MARK: Reading

    /// - Returns: nil at the end of the input, and behind a line that cannot be used.
    private func readBatch() -> Batch? {
        input.withLock { input in
            var batch = Batch()
            var bytes = 0
            while !input.isOver, refusal.withLock({ $0 == nil }) {
                // While the producer pauses, its lines so far are submitted.
                if !batch.drafts.isEmpty, input.reader.mayBlock { break }
                do {
                    let line = try input.reader.next()
                    input.number += 1
                    switch line {
                    case .end: input.isOver = true
                    case .tooLong:
                        throw ExitError(.data, "the payload is larger than \(Command.payloadLimit) bytes")
                    case .line(let text):
                        if text.allSatisfy({ $0 == 0x20 || $0 == 0x0D || $0 == 0x09 }) { continue }
                        let draft = try draft(text)
                        bytes += draft.payload.count
                        batch.drafts.append(draft)
                        batch.lines.append(input.number)
                    }
                } catch {
                    let exitError = ExitError(error)
                    input.problem = ExitError(exitError.code, "line \(input.number): \(exitError.message ?? "")")
                    input.isOver = true
                }
                if batch.drafts.count >= Self.batchSize || bytes >= Self.batchBytes { break }
            }
            return batch.drafts.isEmpty ? nil : batch
        }
    }

    private func draft(_ text: ArraySlice<UInt8>) throws -> CommandDraft {
        let text = Array(text)
        let line: JSONValue
        let ranges: [Range<Int>]
        do throws(JSONError) {
            (line, ranges) = try JSONValue.locatingMembers(of: text)
        } catch {
            throw ExitError(.data, "not valid JSON: \(error)")
        }
        guard case .object(let members) = line else {
            throw ExitError(.data, "a line must be an object such as {\"payload\": {}}, not \(line.kind)")
        }
        var options = options
        var payload: (value: JSONValue, text: [UInt8])?
        for (member, range) in zip(members, ranges) {
            if member.name == "payload" {
                payload = (member.value, Array(text[range]))
            } else {
                try BulkField.read(member, into: &options)
            }
        }
        guard let payload else { throw ExitError(.data, "“payload” is missing") }
        guard options.uniqueKey != nil || line["uniqueFor"] == nil else {
            throw ExitError(.data, "“uniqueFor” says how long “uniqueKey” is held, which is missing")
        }
        return try CommandDraft(
            type: type, payload: payload.value, text: payload.text, options: options, registry: registry)
    }

    // MARK: Committing

    private func commit(_ batch: Batch) {
        if !isQuiet {
            do { try Output.require(bytes: batch.drafts.count * SubmissionPrinter.lineBytes) } catch {
                let exitError = ExitError(error)
                refusal.withLock {
                    $0 = ExitError(exitError.code, "line \(batch.lines[0]): \(exitError.message ?? "")")
                }
                return
            }
        }
        let results = client.access.submit(batch.drafts, allowUnknownTypes: options.allowUnknownType)
        var accepted: [(submission: Submission, line: Int)] = []
        accepted.reserveCapacity(results.count)
        for (index, result) in results.enumerated() {
            switch result {
            case .success(let submission):
                accepted.append((submission, batch.lines[index]))
            case .failure(let error):
                let exitError = ExitError(error)
                refusal.withLock { refusal in
                    guard refusal == nil else { return }
                    refusal = ExitError(exitError.code, "line \(batch.lines[index]): \(exitError.message ?? "")")
                }
            }
        }
        show(accepted)
        totals.withLock { totals in
            totals.accepted += accepted.count
            totals.existing += accepted.count { $0.submission.isExisting }
            if keepsIDs { totals.ids += accepted.map(\.submission.id) }
        }
    }

    private func show(_ accepted: [(submission: Submission, line: Int)]) {
        if !isQuiet { printIDs(accepted) }
        guard isQuiet || !Output.isTerminal else { return }
        let said = progress.withLock { $0.add(accepted.count, now: .now) }
        if let said { Diagnostics.showStatus { _ in said } }
    }

    private func printIDs(_ accepted: [(submission: Submission, line: Int)]) {
        Output.append { buffer in
            for (submission, line) in accepted {
                if asJSON { buffer.append(contentsOf: "{\"id\":\"".utf8) }
                withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 36) {
                    submission.id.write(into: $0)
                    buffer.append(contentsOf: $0)
                }
                if asJSON {
                    buffer.append(contentsOf: "\",\"existing\":\(submission.isExisting),\"line\":\(line)}".utf8)
                }
                buffer.append(UInt8(ascii: "\n"))
            }
        }
        Output.flush()
    }
}
