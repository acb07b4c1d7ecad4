import Commands

/// The result of a run; a line of `results.jsonl`.
struct RunRecord: Sendable {
    /// An event for the plots; `at` is in seconds since the start of the run.
    struct Mark: Sendable {
        var at: Double
        var text: String
    }

    /// The level and the limit of a link from a time on.
    struct LevelChange: Sendable {
        var at: Double
        var link: String
        var level: String
        var limit: Int?
    }

    var job: Job
    var facts: JSONValue = [:]
    var figures: [(name: String, value: Double)] = []
    /// The single values behind the figures, for strip plots.
    var samples: [(name: String, values: [Double])] = []
    /// Mbit/s of payload in steps of ``step``, by kind of transfer.
    var goodput: [(kind: String, values: [Double])] = []
    var marks: [Mark] = []
    var levels: [LevelChange] = []
    var notes: [String] = []
    /// The reason why the run gave no result.
    var error: String?

    static let step = 0.5

    init(_ job: Job) { self.job = job }

    subscript(figure: String) -> Double? { figures.first { $0.name == figure }?.value }

    mutating func set(_ figure: String, _ value: Double?) {
        if let value, value.isFinite { figures.append((figure, value)) }
    }

    /// The record without the values over time.
    var withoutSeries: RunRecord {
        var record = self
        (record.goodput, record.levels) = ([], [])
        return record
    }

    var json: JSONValue {
        func list(_ values: [Double]) -> JSONValue { .array(values.map { .number(($0 * 1000).rounded() / 1000) }) }
        return [
            "scenario": .string(job.scenario), "arm": .string(job.arm.rawValue), "congestion": .string(job.congestion),
            "repetition": .integer(Int64(job.repetition)), "seconds": .number(job.seconds), "facts": facts,
            "figures": .object(figures.map { .init($0.name, .number($0.value)) }),
            "samples": .object(samples.map { .init($0.name, list($0.values)) }),
            "goodput": .object(goodput.map { .init($0.kind, list($0.values)) }),
            "marks": .array(marks.map { [.number($0.at), .string($0.text)] }),
            "levels": .array(
                levels.map {
                    [
                        .number($0.at), .string($0.link), .string($0.level),
                        $0.limit.map { .integer(Int64($0)) } ?? .null,
                    ]
                }), "notes": .array(notes.map { .string($0) }), "error": error.map { .string($0) } ?? .null,
        ]
    }

    init?(_ json: JSONValue) {
        guard let scenario = json["scenario"]?.string, let arm = json["arm"]?.string.flatMap(Arm.init(rawValue:)),
            let congestion = json["congestion"]?.string, let repetition = json["repetition"]?.integer,
            let seconds = json["seconds"]?.double
        else { return nil }
        func lists(_ value: JSONValue?) -> [(String, [Double])] {
            (value?.members ?? []).map { ($0.name, ($0.value.elements ?? []).compactMap(\.double)) }
        }
        job = Job(
            scenario: scenario, arm: arm, congestion: congestion, repetition: Int(repetition), seconds: seconds)
        facts = json["facts"] ?? [:]
        figures = (json["figures"]?.members ?? []).compactMap { member in
            member.value.double.map { (member.name, $0) }
        }
        samples = lists(json["samples"])
        goodput = lists(json["goodput"])
        marks = (json["marks"]?.elements ?? []).compactMap { mark in
            guard let mark = mark.elements, mark.count == 2, let at = mark[0].double, let text = mark[1].string
            else { return nil }
            return Mark(at: at, text: text)
        }
        levels = (json["levels"]?.elements ?? []).compactMap { change in
            guard let change = change.elements, change.count == 4, let at = change[0].double,
                let link = change[1].string, let level = change[2].string
            else { return nil }
            return LevelChange(at: at, link: link, level: level, limit: change[3].integer.map { Int($0) })
        }
        notes = (json["notes"]?.elements ?? []).compactMap(\.string)
        error = json["error"]?.string
    }
}
