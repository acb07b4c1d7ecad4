internal import Commands
internal import Console
internal import Glibc
internal import Host
internal import Queue
internal import Synchronization

/// `--wait`: returns when all commands have ended, and shows their progress on a terminal.
///
/// Ctrl-C detaches: the commands continue.
struct CompletionWaiter {
    fileprivate struct State {
        var progress: TransferProgress
        var offsets: [CommandID: Int64] = [:]
        var totals: [CommandID: Int64] = [:]
        /// Commands that compute a checksum, and how far they are.
        var verified: [CommandID: (offset: Int64, at: MonotonicTime)] = [:]
        /// Monotonic time in nanoseconds and bytes sent, of the last three seconds.
        var history: [(at: MonotonicTime, bytes: Int64)] = []
        var failures: [String] = []
        /// Failures because of a name that a server chose and that exists.
        var takenNames = 0
        /// Sources that `removeSource` could not delete.
        var keptSources: [String] = []
    }

    fileprivate final class Shared: Sendable {
        let state: Mutex<State>
        let isTerminal: Bool

        init(_ progress: TransferProgress, totals: [CommandID: Int64], isTerminal: Bool) {
            state = Mutex(State(progress: progress, totals: totals))
            self.isTerminal = isTerminal
        }
    }

    let client: SluiceClient
    let ids: [CommandID]
    private let shared: Shared

    /// - Parameter totals: bytes of each command, in the order of the ids; empty where they are unknown.
    init(client: SluiceClient, ids: [CommandID], totals: [Int64] = []) {
        self.client = client
        // Several commands of one unique key have one id.
        let known = Dictionary(zip(ids, totals)) { first, _ in first }
        self.ids = totals.isEmpty ? Array(Set(ids)) : Array(known.keys)
        let progress = TransferProgress(commands: self.ids.count, total: known.values.clampedSum)
        shared = Shared(progress, totals: known, isTerminal: Diagnostics.isTerminal)
    }

    /// - Throws: ``ExitError`` `failed` where a command has not succeeded; `data` where all failures are names that a
    ///   server chose and that exist.
    func run() async throws {
        guard !ids.isEmpty else { return }
        let shared = shared
        SignalHandling.exits {
            Diagnostics.say("detached; the commands go on. See “sluice status”")
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await watchCoordinator() }
            group.addTask { await tellReasons() }
            if shared.isTerminal {
                let events = try client.events(prefix: "progress/")
                group.addTask { await follow(events) }
                group.addTask { await draw() }
            }
            try await waitForAll()
            group.cancelAll()
        }
        Diagnostics.clearStatus()
        let (keptSources, failures, takenNames) = shared.state.withLock { ($0.keptSources, $0.failures, $0.takenNames) }
        Self.tell(keptSources)
        Self.tell(failures)
        if !failures.isEmpty { throw ExitError(failures.count == takenNames ? .data : .failed, nil) }
    }

    private static func tell(_ lines: [String]) {
        for line in lines.prefix(20) { Diagnostics.say(line) }
        if lines.count > 20 { Diagnostics.say("and \(lines.count - 20) more") }
    }

    private func waitForAll() async throws {
        try await withThrowingTaskGroup(of: CommandOutcome.self) { group in
            var rest = ids[...]
            // Each waiter reads the store once a second, so no more than this many wait at once.
            for id in rest.prefix(4096) { group.addTask { try await client.wait(for: id) } }
            rest = rest.dropFirst(4096)
            while let outcome = try await group.next() {
                settle(outcome)
                if let id = rest.popFirst() { group.addTask { try await client.wait(for: id) } }
            }
        }
    }

    private func settle(_ outcome: CommandOutcome) {
        let result = outcome.result.flatMap { try? JSONValue(parsing: $0) }
        shared.state.withLock { state in
            state.progress.ended += 1
            state.verified[outcome.id] = nil
            guard !outcome.isSuccess else {
                if let total = state.totals[outcome.id] { state.offsets[outcome.id] = total }
                if let problem = result?["sourceProblem"]?.string {
                    state.keptSources.append("\(outcome.id) succeeded; \(problem)")
                }
                return
            }
            state.progress.failed += 1
            if result?["nameTaken"]?.bool == true { state.takenNames += 1 }
            let reason = outcome.reason.map { ": \($0)" } ?? ""
            state.failures.append("\(outcome.id) \(outcome.status.clause)\(reason)")
        }
    }

    private func watchCoordinator() async {
        var hasSaid = false
        while !Task.isCancelled {
            let isRunning = client.access.coordinator != nil
            if !isRunning, !hasSaid {
                hasSaid = true
                Diagnostics.say("nothing is running yet; waiting. Start it with “sluice up”")
            }
            shared.state.withLock { $0.progress.note = isRunning ? "waiting" : "nothing is running" }
            try? await Task.sleep(for: .seconds(1))
        }
    }

    /// Prints why commands wait, each reason once: a destination may refuse commands for a long time.
    private func tellReasons() async {
        var told: Set<String> = []
        while !Task.isCancelled, told.count < Self.maxReasons {
            try? await Task.sleep(for: .seconds(2))
            for id in ids.prefix(Self.maxObserved) {
                guard let command = try? await client.command(id), command.status == .new || command.status == .error,
                    let reason = command.reason, told.insert(reason).inserted
                else { continue }
                Diagnostics.say("\(id) waits: \(reason) (see “sluice explain \(id)”)")
            }
        }
    }

    /// The maximum number of reasons printed, and of commands whose reasons are read: the others wait for
    /// similar ones.
    private static let (maxReasons, maxObserved) = (5, 16)

    private func follow(_ events: AsyncStream<SluiceEvent>) async {
        let mine = Set(ids)
        for await event in events {
            guard let id = event.id, mine.contains(id), let offset = event.body["offset"]?.integer else { continue }
            let total = event.body["total"]?.integer ?? 0
            let isVerifying = event.body["phase"]?.string == "verifying"
            shared.state.withLock { state in
                state.verified[id] = isVerifying ? (offset, .now) : nil
                if !isVerifying { state.offsets[id] = offset }
                // The size of a download is known from its first answer on.
                guard total > 0, state.totals[id] != total else { return }
                state.totals[id] = total
                state.progress.total = state.totals.values.clampedSum
            }
        }
    }

    private func draw() async {
        while !Task.isCancelled {
            shared.draw(now: .now)
            try? await Task.sleep(for: .milliseconds(200))
        }
    }
}

extension CompletionWaiter.Shared {
    /// A running execution sends its progress four times a second.
    private static let maxProgressAge: Duration = .seconds(5)

    func draw(now: MonotonicTime) {
        let progress = state.withLock { state in
            let bytes = state.offsets.values.clampedSum
            state.history.append((now, bytes))
            state.history.removeAll { now - $0.at > .seconds(3) }
            state.progress.done = bytes
            if let first = state.history.first, now - first.at > .milliseconds(500) {
                let seconds = (now - first.at).seconds
                state.progress.rate = Int64(Double(max(bytes - first.bytes, 0)) / seconds)
            }
            var progress = state.progress
            // A command whose checksum was wrong waits, and sends no progress.
            state.verified = state.verified.filter { now - $0.value.at < Self.maxProgressAge }
            if !state.verified.isEmpty {
                let of = state.verified.keys.map { state.totals[$0] ?? 0 }.clampedSum
                progress.note = ProgressBar.verifying(state.verified.values.map(\.offset).clampedSum, of: of)
            }
            return progress
        }
        Diagnostics.showStatus { ProgressBar.line(progress, columns: $0) }
    }
}
