import Commands
import Store
import TestSupport

/// Compares the ledgers with the store, invariant by invariant. It only reads.
struct TortureChecker {
    let store: any CommandStore
    let entries: [CommandID: TortureLedger.Entry]
    let requests: [ReceivedRequest]
    /// A line for each run of the program.
    let runs: [String]
    /// Batches whose clients were killed.
    let sealed: Set<CommandID>

    /// The rate limit of some no-ops: 40 a second, with a burst of 10.
    static let limit = "torture"

    private(set) var violations: [String] = []
    private let clock: [SteppedClock.Setting]
    private let restores: [Timestamp]
    /// The true times at which commands with the rate limit were claimed.
    private var starts: [Timestamp] = []
    /// The true times of the transitions to `sent` of each command; nil where two settings of the clock explain it.
    private var sent: [CommandID: [Timestamp?]] = [:]
    /// The true time of the last transition of each command.
    private var ends: [CommandID: Timestamp] = [:]
    /// The numbers of the first and the last transition of each command.
    private var numbers: [CommandID: ClosedRange<Int64>] = [:]
    /// The number of commands with each final status.
    private(set) var endings: [CommandStatus: Int] = [:]
    /// The number of healthy commands by the number of deaths that they were charged with.
    private(set) var crashes: [Int: Int] = [:]
    private(set) var transitions = 0
    /// Times of schedules that fired.
    private(set) var fired = 0
    /// Batches that ended with their members, or that a restore took back.
    private(set) var batches = 0
    /// The deliveries of messages, by path.
    private let messages: [String: [ReceivedRequest]]
    /// Messages that arrived more than once.
    var repeatedMessages: Int { messages.values.count { $0.count(where: \.isWhole) > 1 } }

    init(
        store: any CommandStore, ledger: TortureLedger, requests: [ReceivedRequest], runs: [String],
        clock: [SteppedClock.Setting], restores: [Timestamp]
    ) {
        (self.clock, self.restores) = (clock, restores)
        entries = ledger.entries
        sealed = ledger.sealed
        self.store = store
        self.runs = runs
        self.requests = requests
        messages = Dictionary(grouping: requests.filter { $0.target.hasPrefix("/hook/") }, by: \.target)
    }

    mutating func run() throws {
        let commands = try allCommands()
        checkEndings(commands)
        try checkTransitions(commands)
        checkStarts()
        try checkCounts(commands)
        var schedules = ScheduleChecker(isClockSet: clock.count > 1, numbers: numbers)
        for schedule in try store.schedules() { schedules.check(schedule, commands.values) }
        violations += schedules.violations
        fired = schedules.fired
        try checkBatches(commands)
        for shard in 0..<store.shardCount {
            let damage = try (store as? any StoreMaintenance)?.integrityCheck(shard: shard) ?? []
            for problem in damage { violations.append("shard \(shard): \(problem)") }
            for problem in try store.relationProblems(shard: shard) { violations.append("shard \(shard): \(problem)") }
        }
    }

    private func allCommands() throws -> [CommandID: Command] {
        var commands: [CommandID: Command] = [:]
        var after: CommandID?
        while true {
            let page = try store.list(CommandFilter(), after: after, limit: 1000)
            for command in page { commands[command.id] = command }
            guard let last = page.last else { return commands }
            after = last.id
        }
    }

    private mutating func checkBatches(_ commands: [CommandID: Command]) throws {
        let members = Dictionary(grouping: commands.values.filter { $0.batch != nil }) { $0.batch }
        var callbacks: [CommandID: [[Timestamp?]]] = [:]
        for id in commands.keys {
            guard let batch = try store.dependencies(of: id, limit: 1)?.flow else { continue }
            callbacks[batch, default: []].append(sent[id] ?? [])
        }
        var checker = BatchChecker()
        var restoredBatches = 0
        for id in commands.values.filter({ $0.type == CommandType.batch }).map(\.id) {
            guard let batch = try store.batch(id) else { continue }
            var expected: Int?
            if case .batch(let count) = entries[id]?.kind, !sealed.contains(id) { expected = count }
            // A restore takes members and the batch back to different moments; the batch ends nevertheless.
            if entries[id]?.restored ?? 0 > 0 {
                if !batch.command.status.isFinal { violations.append("batch \(id), restored, has not ended") }
                restoredBatches += 1
                continue
            }
            checker.check(
                batch, expected: expected, members: (members[id] ?? []).map { ends[$0.id] },
                callbacks: callbacks[id] ?? [])
        }
        violations += checker.violations
        let lost = entries.count { id, entry in
            guard case .batch = entry.kind else { return false }
            return commands[id] == nil
        }
        batches = checker.ended + restoredBatches + lost
    }

    // MARK: Acknowledged commands and received files

    private mutating func checkEndings(_ commands: [CommandID: Command]) {
        var arrivals: [String: Int] = [:]
        var arrived: [String: Set<String>] = [:]
        for request in requests where request.answered == 201 && request["webhook-id"] == nil {
            guard let key = request.key else {
                violations.append("a request to \(request.target) has no key")
                continue
            }
            arrivals[key, default: 0] += 1
            if let sum = request.sha256 { arrived[request.target, default: []].insert(sum) }
        }
        for (id, entry) in entries {
            guard let command = commands[id] else {
                if !entry.mayBeLost { violations.append("\(id) was acknowledged and is lost") }
                continue
            }
            endings[command.status, default: 0] += 1
            if !command.status.isFinal { violations.append("\(id) has not ended: \(say(command))") }
            if entry.kind != .poison { crashes[command.crashes, default: 0] += 1 }
            if command.status == .tooManyTimes, entry.kind != .poison, !entry.isLostSpool {
                let timeline = ((try? store.timeline(id)) ?? []).map { "\($0.at) \($0.status) \($0.reason ?? "")" }
                violations.append(
                    "\(entry.kind) \(id) to a healthy destination was given up: \(say(command)): "
                        + timeline.joined(separator: ", "))
                continue
            }
            if command.status == .cancelled, entry.cancelled == 0 {
                violations.append("\(id) is cancelled without a request")
            }
            if command.status == .inDoubt, command.idempotent {
                violations.append("\(id) is idempotent and in doubt: \(say(command))")
            }
            let count = arrivals[id.description] ?? 0
            switch entry.kind {
            case .poison:
                if command.status != .tooManyTimes, entry.cancelled == 0 {
                    violations.append("the poison \(id) was not given up: \(say(command))")
                }
            // checkBatches looks at its members.
            case .noop, .batch:
                if command.status != .success, entry.cancelled == 0 { violations.append("\(id): \(say(command))") }
            // A restore does not put back the files of the spool.
            case .spooled where entry.restored > 0 && command.status == .tooManyTimes: break
            case .put(let path, let sum), .spooled(let path, let sum):
                if command.status != .success, entry.cancelled == 0 { violations.append("\(id): \(say(command))") }
                if command.status == .success, arrived[path] != [sum] {
                    let seen = requests.filter { $0.key == id.description || $0.target == path }.map {
                        "\($0.method) \($0.target) by \($0.key ?? "no command"), \($0.bytes) of \($0.declared) bytes, "
                            + "\($0.sha256?.prefix(8) ?? "no sum"), answered \($0.answered.map(String.init) ?? "nothing")"
                    }
                    violations.append(
                        "\(id) is a success, and its bytes (\(sum.prefix(8))) are not at \(path), which saw \(seen)")
                }
            case .copy(let path, let sum):
                if command.status != .success, entry.cancelled == 0 { violations.append("\(id): \(say(command))") }
                if command.status == .success, contents(of: path).map(sha256) != sum {
                    violations.append("\(id) is a success, and its bytes are not at \(path)")
                }
            case .post(let path): checkOnce("POST to \(path)", command, entry, count)
            case .webhook(let path, let body): checkMessage(to: path, body, command, entry)
            case .program: checkOnce("program", command, entry, runs.count { $0 == id.description })
            }
        }
        let known = Set(entries.keys)
        for id in commands.keys where !known.contains(id) {
            // A command may be submitted without being acknowledged, but it must end like the others.
            if commands[id]?.status.isFinal != true { violations.append("\(id), unacknowledged, has not ended") }
        }
    }

    /// - Parameter count: how often the effect of the command was seen.
    private mutating func checkOnce(
        _ name: String, _ command: Command, _ entry: TortureLedger.Entry, _ count: Int
    ) {
        if count > 1 + entry.retried + entry.restored {
            violations.append(
                "the \(name) of \(command.id) ran \(count) times, retried \(entry.retried) times, restored "
                    + "\(entry.restored) times")
        }
        if command.status == .success, count == 0 { violations.append("the \(name) of \(command.id) never ran") }
        if command.status != .success, command.status != .inDoubt, entry.cancelled == 0 {
            violations.append("the \(name) of \(command.id): \(say(command))")
        }
    }

    /// Every delivery has the id of the command, the same bytes, and a signature of its own time.
    private mutating func checkMessage(
        to path: String, _ body: String, _ command: Command, _ entry: TortureLedger.Entry
    ) {
        let deliveries = messages[path] ?? []
        let isAccepted = deliveries.contains { $0.answered == 201 }
        if command.status == .success, !isAccepted { violations.append("the message \(command.id) never arrived") }
        if command.status != .success, entry.cancelled == 0 { violations.append("\(command.id): \(say(command))") }
        for delivery in deliveries where delivery.isWhole {
            let id = delivery["webhook-id"] ?? ""
            guard id == "msg_\(command.id)", delivery.sha256 == sha256(Array(body.utf8)) else {
                violations.append("a delivery of \(command.id) has the id “\(id)” and \(delivery.bytes) bytes")
                continue
            }
            let signed = "\(id).\(delivery["webhook-timestamp"] ?? "").\(body)"
            if delivery["webhook-signature"] != webhookSignature(of: signed, secret: Torture.secret) {
                violations.append("a delivery of \(command.id) has the wrong signature")
            }
        }
    }

    private func say(_ command: Command) -> String {
        "\(command.status), claim \(command.claim), retries \(command.retries), crashes \(command.crashes), "
            + "\(command.reason ?? "no reason")"
    }

    // MARK: The audit trail

    private mutating func checkTransitions(_ commands: [CommandID: Command]) throws {
        for shard in 0..<store.shardCount {
            var last: [CommandID: Transition] = [:]
            var holders: [String: Set<CommandID>] = [:]
            var seats: [CommandID: [Int: Set<Int>]] = [:]
            var after: Int64 = 0
            var times = TrueTimes(clock, until: .now)
            while true {
                let page = try store.events(shard: shard, after: after, limit: 1000).events
                guard let final = page.last else { break }
                for event in page {
                    let transition = event.transition
                    transitions += 1
                    if transition.seq != after + 1 {
                        violations.append("shard \(shard): transition \(after + 1) is missing before \(transition.seq)")
                    }
                    after = transition.seq
                    check(transition, after: last[transition.id])
                    let at = read(times.next(transition.at), of: transition, shard)
                    if transition.status == .queued, commands[transition.id]?.limit != nil, let at {
                        starts.append(at)
                    }
                    if transition.status == .sent { sent[transition.id, default: []].append(at) }
                    ends[transition.id] = at
                    let first = numbers[transition.id]?.lowerBound ?? transition.seq
                    numbers[transition.id] = first...transition.seq
                    if let key = commands[transition.id]?.orderingKey { checkOrder(key, transition, &holders) }
                    if let seat = transition.seat, transition.claim > 0 {
                        seats[transition.id, default: [:]][transition.claim, default: []].insert(seat)
                    }
                    last[transition.id] = transition
                }
                after = final.transition.seq
            }
            for (id, claims) in seats {
                for (claim, seats) in claims where seats.count > 1 {
                    violations.append("claim \(claim) of \(id) has the seats \(seats.sorted())")
                }
            }
            for (id, transition) in last {
                guard let command = commands[id] else { continue }
                if command.status != transition.status || command.claim != transition.claim {
                    violations.append("\(id) is \(command.status) and its last transition says \(transition.status)")
                }
            }
        }
    }

    /// - Returns: the true time; nil where two settings of the clock explain it.
    private mutating func read(
        _ reading: TrueTimes.Reading, of transition: Transition, _ shard: Int
    ) -> Timestamp? {
        switch reading {
        case .at(let time): return time
        case .ambiguous: return nil
        case .impossible:
            violations.append(
                "shard \(shard), transition \(transition.seq): no clock showed \(transition.at), the time at which "
                    + "\(transition.id) came to \(transition.status)")
            return nil
        }
    }

    private mutating func check(_ transition: Transition, after previous: Transition?) {
        guard let previous else {
            if transition.status != .new, transition.status != .blocked {
                violations.append("\(transition.id) begins as \(transition.status)")
            }
            return
        }
        let id = transition.id
        if !previous.status.mayBecome(transition.status) {
            violations.append("\(id) went from \(previous.status) to \(transition.status), which the table forbids")
        }
        // Only a claim changes the count, by one. A write of an earlier execution would change it otherwise.
        let expected = transition.status == .queued ? previous.claim + 1 : previous.claim
        if transition.claim != expected {
            violations.append(
                "\(id) came to \(transition.status) under claim \(transition.claim) where \(expected) was in force")
        }
    }

    /// In no window do more commands start than rate and burst allow.
    private mutating func checkStarts() {
        var smallest = Double.infinity
        var restores = restores[...]
        for (index, time) in starts.sorted().enumerated() {
            // A restore takes back what the limit has counted.
            if let restore = restores.first, restore < time {
                smallest = .infinity
                restores.removeFirst()
            }
            let level = Double(index) - Double(time.milliseconds) / 1000 * 40
            smallest = min(smallest, level)
            // Times are whole milliseconds.
            if level - smallest + 1 > 10.05 {
                violations.append("\(level - smallest + 1) commands of the rate limit started at once at \(time)")
            }
        }
    }

    /// Commands with one ordering key run one after the other, but for those that an operator has retried.
    private mutating func checkOrder(_ key: String, _ transition: Transition, _ holders: inout [String: Set<CommandID>])
    {
        let id = transition.id
        switch transition.status {
        case .queued:
            let others = holders[key, default: []].subtracting([id])
            if let other = others.first, (others.union([id])).allSatisfy({ entries[$0]?.retried ?? 0 == 0 }) {
                violations.append("\(id) ran beside \(other), which has the same ordering key “\(key)”")
            }
            holders[key, default: []].insert(id)
        case .success, .cancelled, .tooManyTimes: holders[key]?.remove(id)
        case .new, .sent, .error, .blocked, .inDoubt: break
        }
    }

    private mutating func checkCounts(_ commands: [CommandID: Command]) throws {
        let counts = try store.counts()
        for status in CommandStatus.allCases {
            let real = commands.values.count { $0.status == status }
            if counts[status] != real { violations.append("counts say \(counts[status]) \(status), there are \(real)") }
        }
    }
}

extension TortureLedger.Entry {
    /// Whether its file may be gone because a restore took it back to before its end.
    fileprivate var isLostSpool: Bool {
        if case .spooled = kind { return restored > 0 }
        return false
    }
}
