/// Selects the next run. Several runs share the machine, as far as it can carry their packets.
struct RunQueue {
    private var open: [Job]
    private var running: [Job] = []
    private let atOnce: Int
    private let megabits: Double
    private let uplink: Double?

    /// - Parameters:
    ///   - megabits: the capacity in Mbit/s for all concurrent links; a run that allows few neighbours takes a larger share.
    ///   - uplink: the maximum Mbit/s of the shared link of a run.
    init(_ jobs: [Job], atOnce: Int, megabits: Double, uplink: Double?) {
        open = jobs
        self.atOnce = max(1, atOnce)
        self.megabits = megabits
        self.uplink = uplink
    }

    var waiting: Int { open.count }

    /// Takes the first waiting run that fits beside the running ones; nil if none fits.
    mutating func next() -> Job? {
        guard running.count < atOnce else { return nil }
        let load = running.reduce(0) { $0 + cost(of: $1) }
        let fits = open.firstIndex { running.isEmpty || load + cost(of: $0) <= megabits }
        guard let fits else { return nil }
        running.append(open[fits])
        return open.remove(at: fits)
    }

    mutating func end(of job: Job) { running.removeAll { $0 == job } }

    private func cost(of job: Job) -> Double {
        guard let scenario = Scenario.named(job.scenario)?.over(uplink: uplink), scenario.neighbours > 0
        else { return megabits }
        return max(scenario.megabits, megabits / (Double(scenario.neighbours) + 1))
    }
}
