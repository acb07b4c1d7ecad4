internal import Commands

/// Random numbers of one purpose. Each purpose has a stream of its own, so that a fault that is left out shifts nothing else.
struct RandomStream: RandomNumberGenerator {
    private var state: UInt64

    /// - Parameter stream: the purpose.
    init(seed: UInt64, stream: UInt64) {
        state = seed &* 0x9E37_79B9_7F4A_7C15 ^ stream &* 0xD134_2543_DE82_EF95
        _ = next()
    }

    /// splitmix64.
    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ z >> 30) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ z >> 27) &* 0x94D0_49BB_1331_11EB
        return z ^ z >> 31
    }

    mutating func chance(_ probability: Double) -> Bool {
        Double(next() >> 11) * 0x1p-53 < probability
    }

    mutating func number(_ range: ClosedRange<Int>) -> Int {
        range.lowerBound + Int(next() % UInt64(range.upperBound - range.lowerBound + 1))
    }

    /// From nothing to `longest`. Short ones are likelier: half of them are below a tenth.
    mutating func time(upTo longest: Duration) -> Duration {
        let milliseconds = max(Int(longest.milliseconds), 1)
        let limit = chance(0.5) ? max(milliseconds / 10, 1) : milliseconds
        return .milliseconds(number(0...limit))
    }

    mutating func pick<Element>(_ elements: [Element]) -> Element? {
        elements.isEmpty ? nil : elements[number(0...elements.count - 1)]
    }
}

/// The world of one seed: its size, its features, and the rates of its faults. Swarm testing (Groce et al., ISSTA 2012): each
/// fault and each feature is on in half of the seeds, with a weight of a quarter to four.
struct Plan: Sendable {
    /// Faults, with their rates at a weight of 1.
    enum Fault: String, CaseIterable {
        /// A worker dies: each second; before or after a commit; at a step of an execution.
        case death, commitDeath, stepDeath
        /// A commit reports an error: it was made, it was not made, or the shard was locked.
        case madeCommit, lostCommit, lockedShard
        /// A commit takes long; that of a dead worker arrives after its death.
        case slowCommit, lateCommit
        /// A thread that may run does not.
        case stall
        /// Each second: the coordinator forgets what it has offered.
        case forgetting
        /// A command that is offered is offered to another worker as well.
        case doubledOffer
        /// A reap comes late.
        case lateReap
        /// Each second: a person or the network interferes.
        case cancel, retry, requalify, release, prune

        var rate: Double {
            switch self {
            case .death: 0.05
            case .commitDeath, .stepDeath: 0.01
            case .madeCommit: 0.01
            case .lostCommit: 0.03
            case .lockedShard: 0.02
            case .slowCommit: 0.1
            case .lateCommit: 0.5
            case .stall: 0.01
            case .forgetting: 0.05
            case .doubledOffer: 0.1
            case .lateReap: 0.5
            case .cancel, .retry, .requalify: 0.2
            case .release, .prune: 0.1
            }
        }

        /// Its rate is for each second, not for each opportunity.
        var isByTime: Bool {
            switch self {
            case .death, .forgetting, .cancel, .retry, .requalify, .release, .prune: true
            case .commitDeath, .stepDeath, .madeCommit, .lostCommit, .lockedShard, .slowCommit, .lateCommit, .stall,
                .doubledOffer, .lateReap:
                false
            }
        }

        fileprivate var kills: Bool { self == .death || self == .commitDeath || self == .stepDeath }
    }

    enum Feature: String, CaseIterable {
        case dependencies, flows, batches, orderingKeys, uniqueKeys, deadlines, delays, failures
    }

    let seed: UInt64
    let shards: Int
    let workers: Int
    /// About as many are submitted.
    let commands: Int
    /// Faults happen for this time.
    let faultTime: Duration
    let rates: [Fault: Double]
    let features: Set<Feature>
    /// Deaths in all, so that the threads of dead workers stay few.
    let maxDeaths = 8

    /// - Parameter broken: the faults without which it changes nothing are on.
    init(seed: UInt64, broken: Break?) {
        var random = RandomStream(seed: seed, stream: 1)
        self.seed = seed
        shards = [1, 2, 2, 4][random.number(0...3)]
        workers = random.number(1...4)
        commands = random.chance(0.02) ? random.number(200...400) : random.number(2...random.number(4...80))
        faultTime = .seconds(random.number(10...120))
        let hasDeaths = seed % 8 != 0
        var rates: [Fault: Double] = [:]
        for fault in Fault.allCases {
            let isOn = random.chance(0.5)
            let weight = [0.25, 0.5, 1, 2, 4][random.number(0...4)]
            if isOn, hasDeaths || !fault.kills { rates[fault] = min(fault.rate * weight, 0.9) }
        }
        for fault in broken?.faults ?? [] { rates[fault] = min(fault.rate * 4, 0.9) }
        self.rates = rates
        features = Set(Feature.allCases.filter { _ in random.chance(0.5) })
    }

    func rate(_ fault: Fault) -> Double { rates[fault] ?? 0 }

    var words: String {
        let faults = Fault.allCases.compactMap { fault in rates[fault].map { "\(fault.rawValue) \($0)" } }
        let features = Feature.allCases.filter(features.contains).map(\.rawValue)
        return "\(shards) shards, \(workers) workers, \(commands) commands, \(faultTime) of faults: "
            + faults.joined(separator: ", ") + "; " + features.joined(separator: ", ")
    }
}

/// A rule that the simulated store or coordinator leaves out, to show that the oracles find it.
enum Break: String, CaseIterable, Sendable {
    /// A claim succeeds although another worker has the command.
    case claim
    /// A write of an earlier execution succeeds.
    case fence
    /// The commands of a worker that lives are released.
    case reap
    /// A commit that is repeated, because its outcome is unknown, is taken for another one.
    case repetition

    fileprivate var faults: [Plan.Fault] {
        switch self {
        case .claim: [.doubledOffer]
        case .fence: [.commitDeath, .slowCommit, .lateCommit]
        case .reap: []
        case .repetition: [.madeCommit]
        }
    }
}
