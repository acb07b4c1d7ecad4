/// Which run begins next: several share the machine as far as it has time for their packets.
struct RunQueue {
    /// Mbit/s of all links that are emulated at once.
    static let mostMegabits = 150.0

    private var open: [Job]
    private var running: [Job] = []
    private let atOnce: Int

    init(_ jobs: [Job], atOnce: Int) {
        open = jobs
        self.atOnce = max(1, atOnce)
    }

    var waiting: Int { open.count }

    /// The first of those that wait which fits beside those that run; nil where none does.
    mutating func next() -> Job? {
        guard running.count < atOnce else { return nil }
        let load = running.reduce(0) { $0 + Self.megabits($1) }
        let fits = open.firstIndex { running.isEmpty || load + Self.megabits($0) <= Self.mostMegabits }
        guard let fits else { return nil }
        running.append(open[fits])
        return open.remove(at: fits)
    }

    mutating func end(of job: Job) { running.removeAll { $0 == job } }

    private static func megabits(_ job: Job) -> Double {
        guard let scenario = Scenario.named(job.scenario), !scenario.needsTheMachine else { return mostMegabits }
        return scenario.megabits
    }
}
