internal import CSimulation
internal import Commands
internal import Glibc
internal import Host

/// simulate [--seed N | --seconds S] [--break claim|fence|reap|repetition] [--check-hash] [--json]
///
/// Runs workers, their committers and the memory store in threads that take turns, on a virtual clock, with chance and faults
/// from a seed, and checks each run by oracles. See `CSimulation` for the threads, `Plan` for the faults, `Oracles` for the
/// rules.
@main enum SimulateTool {
    private struct Options {
        var seed: UInt64?
        var seconds = 30
        var broken: Break?
        var checksHash = false
        var isJSON = false
    }

    private static let usage =
        "usage: simulate [--seed N | --seconds S] [--break claim|fence|reap|repetition] [--check-hash] [--json]"

    static func main() {
        setUp()
        let options = options()
        let began = MonotonicTime.now
        let first = options.seed ?? UInt64.random(in: 1...999_999_999) * 1000
        say("the first seed is \(first)")
        var (seeds, turns, virtualSeconds) = (0, Int64(0), Int64(0))
        var counters: [String: Int64] = [:]
        var seed = first
        var (last, lastSaid) = (SeedResult(seed: first), began)
        while true {
            last = SeedRun.run(seed, broken: options.broken)
            seeds += 1
            turns += last.turns
            virtualSeconds += last.virtualSeconds
            counters.merge(last.counters, uniquingKeysWith: +)
            if last.violation == nil, options.checksHash {
                let again = SeedRun.run(seed, broken: options.broken)
                if again.hash != last.hash {
                    last.violation = Violation(
                        oracle: "hash", words: "two runs have the hashes \(last.hash ?? "") and \(again.hash ?? "")")
                }
            }
            if last.violation != nil || options.seed != nil { break }
            let now = MonotonicTime.now
            if now - began >= .seconds(options.seconds) { break }
            if now - lastSaid >= .seconds(5) {
                say("\(seeds) seeds, \(turns) turns in \((now - began).seconds) s")
                lastSaid = now
            }
            seed += 1
        }
        let seconds = (MonotonicTime.now - began).seconds
        print(last, options, seeds, turns, virtualSeconds, counters, seconds)
        exit(last.violation == nil ? 0 : 1)
    }

    /// Executes this program again, with fixed addresses and the hashing of a fixed seed: both are read at its start, and both
    /// change the order of dictionaries.
    private static func setUp() {
        let name = "SWIFT_DETERMINISTIC_HASHING"
        guard getenv(name) == nil else { return }
        setenv(name, "1", 1)
        // A trap is reported by its message.
        setenv("SWIFT_BACKTRACE", "enable=no", 1)
        _ = simulation_fix_addresses()
        execv("/proc/self/exe", CommandLine.unsafeArgv)
        fail("this program cannot be executed again: errno \(errno)")
    }

    private static func options() -> Options {
        var options = Options()
        var arguments = CommandLine.arguments.dropFirst()
        func value() -> String {
            guard let value = arguments.popFirst() else { fail(usage) }
            return value
        }
        while let argument = arguments.popFirst() {
            switch argument {
            case "--seed":
                guard let seed = UInt64(value()) else { fail(usage) }
                options.seed = seed
            case "--seconds":
                guard let seconds = Int(value()), seconds > 0 else { fail(usage) }
                options.seconds = seconds
            case "--break":
                guard let broken = Break(rawValue: value()) else { fail(usage) }
                options.broken = broken
            case "--check-hash": options.checksHash = true
            case "--json": options.isJSON = true
            default: fail(usage)
            }
        }
        return options
    }

    // MARK: Output

    private static func say(_ words: String) {
        let line = "simulate: \(words)\n"
        _ = line.withCString { write(STDERR_FILENO, $0, strlen($0)) }
    }

    private static func fail(_ words: String) -> Never {
        say(words)
        exit(64)
    }

    private static func print(
        _ last: SeedResult, _ options: Options, _ seeds: Int, _ turns: Int64, _ virtualSeconds: Int64,
        _ counters: [String: Int64], _ seconds: Double
    ) {
        let replay =
            "simulate --seed \(last.seed)" + (options.broken.map { " --break \($0.rawValue)" } ?? "")
            + (last.violation?.oracle == "hash" ? " --check-hash" : "")
        if options.isJSON {
            var members: [JSONValue.Member] = [
                .init("seeds", .integer(Int64(seeds))), .init("lastSeed", .string("\(last.seed)")),
                .init("hash", last.hash.map { .string($0) } ?? .null), .init("turns", .integer(turns)),
                .init("virtualSeconds", .integer(virtualSeconds)),
                .init("milliseconds", .integer(Int64(seconds * 1000))),
                .init("counters", .object(counters.sorted { $0.key < $1.key }.map { .init($0, .integer($1)) })),
            ]
            if let violation = last.violation {
                members += [
                    .init("oracle", .string(violation.oracle)),
                    .init("command", violation.id.map { .string($0.description) } ?? .null),
                    .init("words", .string(violation.words)),
                    .init("transitions", .array(last.transitions.map { .string($0) })),
                    .init("replay", .string(replay)),
                ]
            }
            return Swift.print(JSONValue.object(members).text)
        }
        let rates = "\(Int(Double(seeds) / seconds * 10)) seeds in 10 s, \(Int(Double(turns) / seconds)) turns a second"
        Swift.print("\(seeds) seeds, \(turns) turns, \(virtualSeconds) virtual seconds: \(rates)")
        Swift.print(counters.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", "))
        if options.seed != nil { Swift.print("seed \(last.seed) hash \(last.hash ?? "none")") }
        guard let violation = last.violation else { return }
        Swift.print("seed \(last.seed) breaks \(violation.oracle): \(violation.words)")
        if let id = violation.id { Swift.print("command \(id)") }
        for line in last.transitions { Swift.print("  \(line)") }
        if !last.errors.isEmpty { Swift.print(last.errors) }
        Swift.print("plan: \(Plan(seed: last.seed, broken: options.broken).words)")
        Swift.print("replay: \(replay)")
    }
}
